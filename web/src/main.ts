import { mount } from 'svelte';
import './ui/tokens.css';
import './ui/base.css';
import App from './shell/App.svelte';
import { boot } from './shell/page-start.svelte';
// Imported for its effect: the chosen theme is on the root before the first paint.
import './shell/theme.svelte';

const target = document.getElementById('app');
if (target) mount(App, { target });
void boot.run();
