// Package foxglove lets viewers look into a memory live. It is a server of Foxglove's
// WebSocket protocol, in both of its versions: foxglove.sdk.v1, which Foxglove speaks, and
// foxglove.websocket.v1, which older viewers and Lichtblick speak.
//
// A [Door] is an http.Handler before a memory server. Each connection is a session:
//
//   - Each entity is a channel. Its topic is the entity's ID, its encoding protobuf, its
//     schema the type of its payloads; or CDR and ros2msg, if the address asks for that. Who
//     subscribes gets the newest snapshot at once and then each update.
//   - Derived channels show in the viewers' own schemas what has types of ours: the
//     transform tree as foxglove.FrameTransforms, objects and items of the world as
//     foxglove.SceneUpdate, what was said as foxglove.Log.
//   - A viewer that is too slow loses the oldest updates, and is told how many.
//   - With a range in its address ([Door.ServeHTTP]) a session plays history from working
//     and long-term memory, as the viewer's playback bar says.
//   - A viewer may publish to the ID of an entity, which is a commit; ask by services; read
//     the robot's description as a parameter, and its meshes as assets.
//
// All a session does, it does with the identity of its connection and through the server's
// interfaces, so that access rules hold as for any other client.
//
// Package protocol has the protocol's messages.
package foxglove
