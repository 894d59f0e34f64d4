// Package faults_test breaks links, processes and replicas, and checks that streams stay correct.
package faults_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
