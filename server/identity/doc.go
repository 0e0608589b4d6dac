// Package identity keeps the one Ed25519 key that a server signs with.
//
// It promises that a key file is read only where no one but its owner can read it, that two processes which create it at
// once end with one key, and that neither an error nor a print of a Key shows a byte of it. The file is PEM around PKCS#8
// (RFC 8410), so that `openssl genpkey -algorithm ed25519` makes one and `openssl pkey` reads one.
//
// It refuses every other kind of key, and every file that holds more than one.
package identity
