package server

import "maps"

// Permissions gives the table: for each method the roles that may call it, and none where anybody may.
func Permissions() map[string][]Role { return maps.Clone(permissions) }
