// Package conformance finds out whether a checker keeps the plugin contract, in whatever language it is written.
//
// It asks a checker what a host asks, and what only a careless or hostile host would ask, and holds every answer against
// proto/retrial/checker/v1. Its cases have names that do not change, and stand in five levels; a checker has reached a level if
// it passes every case of it and of those before it. A case that cannot be observed, such as one about the process of a
// checker that is only dialled, is told as such, and a level that has one is not reached.
package conformance
