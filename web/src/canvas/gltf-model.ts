/** Draws a glTF model (binary, or JSON with one buffer inside) on a canvas; loaded only where one is shown. */

import {
  Box3,
  Mesh,
  PerspectiveCamera,
  PMREMGenerator,
  Scene,
  Spherical,
  TextureLoader,
  Vector3,
  WebGLRenderer,
  type Object3D,
} from 'three';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { parseDataUrl } from './source';

const FIELD_OF_VIEW_DEG = 40;
const TURN_PER_PX = 0.008;
const TURN_PER_KEY = 0.15;
const NEAR_MIN = 0.4;
const FAR_MAX = 6;

/** Draws until the returned function is called; throws when the bytes are no model or the browser draws none. */
export async function showModel(canvas: HTMLCanvasElement, bytes: Uint8Array<ArrayBuffer>): Promise<() => void> {
  const model = await read(bytes);
  const renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
  const scene = new Scene();
  // A lit room all around: metal, the format's default, shows nothing but what it mirrors.
  const light = new PMREMGenerator(renderer);
  const room = light.fromScene(new RoomEnvironment());
  scene.environment = room.texture;
  scene.add(model);

  const box = new Box3().setFromObject(model);
  const center = box.getCenter(new Vector3());
  const size = Math.max(box.getSize(new Vector3()).length(), 1e-6);
  const camera = new PerspectiveCamera(FIELD_OF_VIEW_DEG, 1, size / 100, size * 20);
  const place = new Spherical(size * 1.4, 1.2, 0.6);

  const draw = () => {
    const { clientWidth: width, clientHeight: height } = canvas;
    if (width === 0 || height === 0) return;
    renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    renderer.setSize(width, height, false);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
    camera.position.setFromSpherical(place).add(center);
    camera.lookAt(center);
    renderer.render(scene, camera);
  };

  const stopListening = listen(canvas, (turn, tilt, closer) => {
    place.theta -= turn;
    place.phi -= tilt;
    place.makeSafe();
    place.radius = Math.min(size * FAR_MAX, Math.max(size * NEAR_MIN, place.radius * closer));
    draw();
  });
  const watcher = new ResizeObserver(draw);
  watcher.observe(canvas);
  return () => {
    watcher.disconnect();
    stopListening();
    dispose(model);
    room.dispose();
    light.dispose();
    renderer.dispose();
  };
}

async function read(bytes: Uint8Array<ArrayBuffer>): Promise<Object3D> {
  const loader = new GLTFLoader();
  // Pictures come in by an <img>: the loader's own way fetches, which the policy of the page forbids.
  loader.register((parser) => {
    parser.textureLoader = new TextureLoader(parser.options.manager);
    return { name: 'pictures-without-fetch' };
  });
  const { scene } = await loader.parseAsync(asBinary(bytes), '');
  return scene;
}

const GLB_MAGIC = 0x46546c67;
const CHUNK_JSON = 0x4e4f534a;
const CHUNK_BIN = 0x004e4942;

/** JSON with its one buffer inside becomes the binary form, so that nothing of it has to be fetched. */
function asBinary(bytes: Uint8Array<ArrayBuffer>): ArrayBuffer {
  if (new DataView(bytes.buffer).getUint32(0, true) === GLB_MAGIC) return bytes.buffer;
  const gltf = JSON.parse(new TextDecoder().decode(bytes)) as { buffers?: { uri?: string }[] };
  const [buffer, ...more] = gltf.buffers ?? [];
  const inside = buffer?.uri === undefined ? null : parseDataUrl(buffer.uri);
  if (more.length > 0 || (buffer && !inside)) throw new Error('its parts lie in other files');
  if (buffer) delete buffer.uri;

  const chunks = [
    chunk(CHUNK_JSON, new TextEncoder().encode(JSON.stringify(gltf)), 0x20),
    ...(inside ? [chunk(CHUNK_BIN, inside.bytes, 0)] : []),
  ];
  const length = 12 + chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const head = new DataView(new ArrayBuffer(12));
  head.setUint32(0, GLB_MAGIC, true);
  head.setUint32(4, 2, true);
  head.setUint32(8, length, true);
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of [new Uint8Array(head.buffer), ...chunks]) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole.buffer;
}

function chunk(kind: number, data: Uint8Array, filler: number): Uint8Array {
  const padded = Math.ceil(data.byteLength / 4) * 4;
  const out = new Uint8Array(8 + padded).fill(filler);
  const view = new DataView(out.buffer);
  view.setUint32(0, padded, true);
  view.setUint32(4, kind, true);
  out.set(data, 8);
  return out;
}

/** Tells how far to turn and tilt, in radians, and by which factor to come closer. */
function listen(canvas: HTMLCanvasElement, move: (turn: number, tilt: number, closer: number) => void): () => void {
  const until = new AbortController();
  const { signal } = until;
  canvas.style.setProperty('touch-action', 'none');
  canvas.addEventListener('pointerdown', (event) => canvas.setPointerCapture(event.pointerId), { signal });
  canvas.addEventListener(
    'pointermove',
    (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) move(event.movementX * TURN_PER_PX, event.movementY * TURN_PER_PX, 1);
    },
    { signal },
  );
  canvas.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault();
      move(0, 0, Math.exp(event.deltaY / 800));
    },
    { signal, passive: false },
  );
  canvas.addEventListener(
    'keydown',
    (event) => {
      const turn = { ArrowLeft: -TURN_PER_KEY, ArrowRight: TURN_PER_KEY }[event.key] ?? 0;
      const tilt = { ArrowUp: -TURN_PER_KEY, ArrowDown: TURN_PER_KEY }[event.key] ?? 0;
      const closer = { '+': 0.9, '-': 1.1 }[event.key] ?? 1;
      if (turn === 0 && tilt === 0 && closer === 1) return;
      event.preventDefault();
      event.stopPropagation();
      move(turn, tilt, closer);
    },
    { signal },
  );
  return () => until.abort();
}

function dispose(model: Object3D): void {
  model.traverse((part) => {
    if (!(part instanceof Mesh)) return;
    part.geometry.dispose();
    for (const material of [part.material].flat()) material.dispose();
  });
}
