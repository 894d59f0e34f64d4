package main

import (
	"crypto/rand"
	"os"
	"strings"
	"sync"
)

// replicaSuffixLength is the number of random characters that distinguish the processes of a host.
const replicaSuffixLength = 6

// replicaName returns the name of this process, which begins with the name of the host. It is the same in
// responses, traces, and for administrators.
var replicaName = sync.OnceValue(func() string {
	suffix := strings.ToLower(rand.Text()[:replicaSuffixLength])
	host, err := os.Hostname()
	if err != nil {
		return suffix
	}
	return host + "-" + suffix
})
