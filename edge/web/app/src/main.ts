import { mount } from 'svelte'
import App from './App.svelte'
import './app.css'
import { server } from './data.svelte'
import { signIn } from './lib/session'

// First of all: what the page asks for is asked for by somebody.
void signIn().then((wrong) => {
  if (wrong) server.alert({ key: 'session', kind: 'error', text: `You could not be let in: ${wrong}` })
  const target = document.getElementById('page')
  if (target) mount(App, { target })
})
