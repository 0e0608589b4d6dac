//go:build unix

package identity

// modesCount says whether the mode of a file says who may read it.
const modesCount = true
