package sandbox

// LoopbackPort is where a program whose plan has a Loopback reaches it, at 127.0.0.1. In a network of its own nobody else can have
// taken it.
const LoopbackPort = 8080

// LoopbackHost is the address that goes with it.
const LoopbackHost = "127.0.0.1"
