// Package web is the face of a memory server: a page in the browser that shows the whole
// memory, live and at any time of the past.
//
// A [Page] is an http.Handler. It serves the files that a browser loads once (folder dist,
// which "npm run build --prefix edge/web/app" makes and which is checked in) and, below
// /view/, pieces of the memory that are made for a screen:
//
//	/view/density   the number of snapshots over time, in as many bins as the screen has columns
//
// All else the page asks of the server's API, as any client may (package transport/rpc).
// Every answer is given to the identity of the connection, through the server's interfaces,
// so that access rules hold. The caller checks the request's origin and host before
// ([secure.Web]).
//
// A piece is read, answered and thrown away: the page keeps nothing of the memory.
package web
