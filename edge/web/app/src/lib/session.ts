// Who looks, where "engram ui --as" lets in only who shows a token.

/**
 * Exchanges the token in the address, if there is one, for a cookie, and removes it there. What was wrong with it is
 * returned.
 */
export async function signIn(): Promise<string> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (!token) return ''
  history.replaceState(history.state, '', location.pathname + location.search)
  try {
    const r = await fetch('/session', { method: 'POST', body: token, headers: { 'Content-Type': 'text/plain' } })
    if (r.ok) return ''
    const { message } = (await r.json()) as { message?: string }
    return message ?? r.statusText
  } catch (e) {
    return e instanceof Error ? e.message : String(e)
  }
}
