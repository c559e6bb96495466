// Package link measures links: back-links out of RAM and out of episodes, traces over two
// servers, and what the index of links costs who commits.
package link
