package main

import (
	"crypto/rand"
	"os"
	"strings"
)

// replicaSuffixLength is the number of random characters that distinguish the processes of a host.
const replicaSuffixLength = 6

// replicaName returns a new name for this process, which begins with the name of the host.
func replicaName() string {
	suffix := strings.ToLower(rand.Text()[:replicaSuffixLength])
	host, err := os.Hostname()
	if err != nil {
		return suffix
	}
	return host + "-" + suffix
}
