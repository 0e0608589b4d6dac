package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	_ "github.com/retrial-dev/retrial/clients/cli" // registers every message of the contract
)

// Every RPC of the contract has an example in proto/README.md, and every example is a request of its RPC.
func TestEveryRPCHasAnExample(t *testing.T) {
	examples := regexp.MustCompile(`(?s)\$A -d '(.*?)' localhost:\d+ (\S+)/(\S+)\n`).FindAllStringSubmatch(document(t, "proto/README.md"), -1)
	shown := map[string]bool{}
	for _, e := range examples {
		name := e[2] + "." + e[3]
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		method := d.(protoreflect.MethodDescriptor)
		n := 0
		for dec := json.NewDecoder(strings.NewReader(e[1])); dec.More(); n++ {
			var one json.RawMessage
			if err := dec.Decode(&one); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := protojson.Unmarshal(one, dynamicpb.NewMessage(method.Input())); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n != 1 && !method.IsStreamingClient() {
			t.Errorf("%s: %d requests", name, n)
		}
		shown[name] = true
	}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(f.Package()), "retrial.") {
			return true
		}
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				if name := string(f.Services().Get(i).Methods().Get(j).FullName()); !shown[name] {
					t.Errorf("%s has no example", name)
				}
			}
		}
		return true
	})
}
