import { svelte } from '@sveltejs/vite-plugin-svelte'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

// The output is the same on every machine, so that it can be checked in: edge/web/dist.
export default defineConfig({
  plugins: [svelte()],
  resolve: {
    alias: [
      { find: /^@api\//, replacement: here('../../../gen/es/engram/v1/') },
      { find: 'engram-client', replacement: here('../../../clients/typescript/src/index.ts') },
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
    proxy: { '^/(engram\\.|view/)': 'http://127.0.0.1:7411' },
  },
})
