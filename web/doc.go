// Package web is the face of a memory server: a page that shows the whole memory live and at any time of the past.
//
// A [Page] is an http.Handler. It serves what a browser loads once (folder dist, which is built from app with
// "npm run build --prefix web/app" and checked in), and, below /view/, pieces of the memory that are made for a screen:
//
//	/view/image     an image of a snapshot, made smaller, as PNG or JPEG
//	/view/series    a number of entities over time, by minima and maxima of as many bins as the screen has columns
//	/view/members   which numbers of an entity can be shown so
//	/view/cameras   which entities have images
//	/view/density   how many snapshots there are over time
//	/view/scene     what is where at a time: frames, robots, items, scans, grids, plans
//	/view/world     the items of the world as it was then
//	/view/video     frames of H.264, for browsers to decode
//	/view/overlay   what was recognised in an image
//	/view/trails    where frames were in the seconds before
//	/view/ghosts    where things may be in the seconds to come, with probabilities and covariances
//	/view/points    the points of a cloud, thinned
//	/view/grid      tiles of an occupancy grid or a cost map, as PNG
//	/view/robot     a robot's description as URDF
//	/view/asset     a file of a robot's description, such as a mesh
//
// All else the page asks of the server's API, as any client may (package transport/rpc). All it is answered, it is answered
// with the identity of its connection, and through the server's interfaces, so that access rules hold.
//
// Pieces are read once and thrown away. What is kept of the memory for a while is, for each identity that looks, the world
// that it may read, and the map of which the last tile was.
package web
