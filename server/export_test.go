package server

var Heed = heed
