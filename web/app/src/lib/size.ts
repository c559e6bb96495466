/** Bytes as people read them, and as the command line prints them: "355 B", "1.8 MB". */
export function size(bytes: bigint | number): string {
  let n = Number(bytes)
  if (n < 1000) return `${n} B`
  let unit = -1
  for (; n >= 999.95 && unit < 5; unit++) n /= 1000
  return `${n.toFixed(1)} ${'kMGTPE'[unit]}B`
}
