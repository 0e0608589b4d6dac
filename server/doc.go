// Package server is the gRPC service: it translates between the contract and the domain, and rules nothing itself.
//
// It promises that a decision is recorded before it is sent, that a caller can name checkers but never make the server
// launch a command, that a name of the registry stands for one build, that every error has one status and shows no
// internals, and that Stop ends within its timeout.
package server
