// Package web is the face of a memory server: a page in the browser that shows the whole
// memory, live and at any time of the past.
//
// A [Page] is an http.Handler. It serves the files that a browser loads once (folder dist,
// which "npm run build --prefix edge/web/app" makes and which is checked in) and, below
// /view/, pieces of the memory that are made for a screen:
//
//	/view/density   the number of snapshots over time, in as many bins as the screen has columns
//	/view/cameras   the entities with images
//	/view/image     an image of a snapshot, scaled down, as PNG or JPEG
//	/view/video     frames of H.264, for browsers to decode, or one of them as JPEG
//	/view/members   the numbers of an entity that can be plotted
//	/view/series    a number over time, by minima and maxima of as many bins as the screen has columns, or as CSV
//	/view/doubts    why nothing satisfies a condition
//	/view/scene     what is where: frames, robots, items, scans, clouds, grids, pictures of memories
//	/view/missing   the frames of it that cannot be placed, and why
//	/view/trails    where frames were before
//	/view/points    the points of a cloud, thinned
//	/view/grid      a tile of a grid or map as PNG
//	/view/robot     the description of a robot as URDF
//	/view/asset     a file that a description names, such as a mesh
//	/view/world     the items of the world and its maps
//
// All else the page asks of the server's API, as any client may (package edge/transport/rpc).
// Every answer is given to the identity of the connection, through the server's interfaces,
// so that access rules hold. The caller checks the request's origin and host before
// ([secure.Web]).
//
// A piece is read, answered and thrown away. Two things stay for a while, since tiles and
// looks come together: the cells of the last map, and for each identity that looked at the
// world in the last 30 s, 16 at most, what it may read of it.
package web
