import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The dev server hands API calls to a running binary; the built page is served by the binary itself.
const server = process.env.GUILDHALL_URL ?? 'http://127.0.0.1:4747';

export default defineConfig({
  plugins: [svelte()],
  base: '/',
  build: {
    outDir: 'dist',
    assetsDir: 'assets',
    // The Content-Security-Policy lets in files of this server only, so nothing is put inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    // The viewer of 3D models is large; it is a file of its own, fetched where a model is shown.
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: {
      '/api': { target: server, changeOrigin: true, ws: true, headers: { origin: server } },
      '/docs': { target: server, changeOrigin: true },
    },
  },
  test: {
    include: ['src/**/*.test.ts'],
    environment: 'node',
  },
});
