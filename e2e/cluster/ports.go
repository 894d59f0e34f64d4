package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// loopback is the only address on which the components listen.
const loopback = "127.0.0.1"

// Ports are below the ranges that operating systems use for the local ports of outgoing
// connections. Otherwise, while a server is down, a client's connection could occupy its port, or
// even connect to itself there.
const (
	lowestPort  = 20000
	highestPort = 31999
)

const portAttempts = 200

// ports holds the cluster's ports, one for each component that listens.
type ports struct {
	Etcd              int `json:"etcd"`
	APIServer         int `json:"kube-apiserver"`
	ControllerManager int `json:"kube-controller-manager"`
	Scheduler         int `json:"kube-scheduler"`
}

// choosePorts reads the ports of the last run from the file, replaces those that are no longer
// free, and writes the result, so that a client's kubeconfig stays valid after a restart.
func choosePorts(file string) (ports, error) {
	chosen, err := readPorts(file)
	if err != nil {
		return ports{}, err
	}
	if err := chosen.settle(); err != nil {
		return ports{}, err
	}
	content, err := json.MarshalIndent(chosen, "", "  ")
	if err != nil {
		return ports{}, err
	}
	return chosen, writeFile(file, append(content, '\n'))
}

func readPorts(file string) (ports, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return ports{}, nil
	}
	if err != nil {
		return ports{}, err
	}
	var saved ports
	if err := json.Unmarshal(content, &saved); err != nil {
		return ports{}, fmt.Errorf("invalid file %s: remove it to choose new ports: %w", file, err)
	}
	return saved, nil
}

// settle replaces each port that is unset or taken. It keeps every port open until the last is
// chosen, so that no two are the same.
func (p *ports) settle() error {
	for _, port := range []*int{&p.Etcd, &p.APIServer, &p.ControllerManager, &p.Scheduler} {
		listener, err := listenNear(*port)
		if err != nil {
			return err
		}
		defer listener.Close()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// listenNear listens on the preferred port, or on any free port of the range if that is taken.
func listenNear(preferred int) (net.Listener, error) {
	if preferred != 0 {
		if listener, err := net.Listen("tcp", address(preferred)); err == nil {
			return listener, nil
		}
	}
	for range portAttempts {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if listener, err := net.Listen("tcp", address(port)); err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("no free port on %s between %d and %d", loopback, lowestPort, highestPort)
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func httpsURL(port int) string { return "https://" + address(port) }
