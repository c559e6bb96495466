import { svelte } from '@sveltejs/vite-plugin-svelte'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The shaders of three.js without comments and indents: they are texts, which nothing else makes smaller. */
const shaders: Plugin = {
  name: 'shaders',
  transform: (code, id) =>
    id.includes('/three/src/')
      ? code.replace(/\/\* glsl \*\/\s*`([^`$\\]*)`/g, (_, text: string) => JSON.stringify(text.replace(/\/\/.*|\/\*[^]*?\*\//g, ' ').replace(/\s*\n\s*/g, '\n')))
      : undefined,
}

/** urdf-loader brings readers of all meshes, and does not use them: src/scene/robot.ts has those of the meshes that there are. */
const meshes: Plugin = {
  name: 'meshes',
  enforce: 'pre',
  resolveId: (id, from) => (from?.includes('/urdf-loader/') && id.includes('/loaders/') ? '\0meshes' : undefined),
  load: (id) => (id === '\0meshes' ? 'export const STLLoader = undefined, ColladaLoader = undefined' : undefined),
}

// The output is the same on every machine, so that it can be checked in: edge/web/dist.
export default defineConfig({
  plugins: [svelte(), meshes, shaders],
  resolve: {
    alias: [
      { find: /^@api\//, replacement: here('../../../gen/es/engram/v1/') },
      { find: 'engram-client', replacement: here('../../../clients/typescript/src/index.ts') },
      // Of its sources a view loads what it uses, and not what readers of meshes use.
      { find: /^three$/, replacement: 'three/src/Three.js' },
      // What is generated lies outside of this folder.
      { find: /^@bufbuild\/protobuf/, replacement: here('node_modules/@bufbuild/protobuf/dist/esm') },
    ],
    // The client has its own where it was installed.
    dedupe: ['@connectrpc/connect', '@connectrpc/connect-web'],
  },
  build: {
    outDir: here('../dist'),
    emptyOutDir: true,
    assetsDir: 'ui',
    assetsInlineLimit: 0,
    license: { fileName: 'ui/licenses.md' },
    modulePreload: { polyfill: false },
    target: 'es2022',
    chunkSizeWarningLimit: 1200,
  },
  server: {
    proxy: { '^/(engram\\.|view/|readyz$)': 'http://127.0.0.1:7411' },
  },
})
