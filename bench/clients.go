package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// clientLists is the number of lists that a client requests in a round.
const clientLists = 5

// client is a shipped client with its default settings.
type client struct {
	name string
	// list lists the pods of a namespace clientLists times and returns the number of objects in total.
	list func(ctx context.Context, c *caller, namespace string) (objects int, err error)
}

var clients = []client{
	{"the generated Go client", listByGo},
	{"the Python client", listByPython},
	{"the TypeScript client", listByTypeScript},
}

// compareClients compares the CPU time that the service uses for a list by each of the shipped
// clients with that of the API server for the list that its clients request by default, which is
// JSON.
func (l *lab) compareClients(ctx context.Context, results *report) error {
	rows := make([]row, len(clients))
	for i, client := range clients {
		rows[i] = row{what: fmt.Sprintf("list %d pods by %s, server CPU", l.pods/2, client.name),
			against: "API server, JSON, resourceVersion=0", unit: "ms", ratio: less}
	}
	err := l.withCaller(ctx, func(c *caller) error {
		return l.eachRound(func(int) error {
			theirs, err := c.listAPIServer(ctx, listNamespace, "", asJSON, l.pods/2)
			for i, client := range clients {
				ours, failed := c.listClient(ctx, client)
				rows[i].ours, rows[i].theirs = append(rows[i].ours, ours), append(rows[i].theirs, theirs.cpu)
				err = errors.Join(err, failed)
			}
			return err
		})
	})
	results.add(rows...)
	return err
}

// listClient returns the service's CPU time for one list by a client, in milliseconds.
func (c *caller) listClient(ctx context.Context, target client) (cpu float64, err error) {
	before, err := usageOf(c.service.PID())
	if err != nil {
		return 0, err
	}
	objects, err := target.list(ctx, c, listNamespace)
	if want := clientLists * c.lab.pods / 2; err == nil && objects != want {
		err = fmt.Errorf("%d lists by %s have %d objects, want %d", clientLists, target.name, objects, want)
	}
	after, failed := usageOf(c.service.PID())
	return milliseconds(after.cpu-before.cpu) / clientLists, errors.Join(err, failed)
}

func listByGo(ctx context.Context, c *caller, namespace string) (objects int, err error) {
	client, closeIdle := c.service.client()
	defer closeIdle()
	resources := c.service.resources(client)
	for range clientLists {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace}
		for {
			page, err := resources.List(ctx, request)
			if err != nil {
				return 0, err
			}
			objects += len(page.GetObjects())
			if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
				break
			}
		}
	}
	return objects, nil
}

const pythonProgram = `
import sys
from kubeconnect import Client
address, ca, namespace, times = sys.argv[1:]
with Client(address, ca_file=ca) as client:
    print(sum(1 for _ in range(int(times)) for _ in client.list("pods", namespace=namespace)))
`

func listByPython(ctx context.Context, c *caller, namespace string) (objects int, err error) {
	return c.run(ctx, namespace, program("PYTHON", ".venv/bin/python"), "-c", pythonProgram)
}

const typeScriptProgram = `
import { readFileSync } from "node:fs";
import { connect } from "./clients/ts/dist/node.js";
const [address, ca, namespace, times] = process.argv.slice(1);
const client = connect(address, { tls: { ca: readFileSync(ca) } });
let objects = 0;
for (let i = 0; i < Number(times); i++) for await (const _ of client.list("pods", { namespace })) objects++;
console.log(objects);
client.close();
`

func listByTypeScript(ctx context.Context, c *caller, namespace string) (objects int, err error) {
	return c.run(ctx, namespace, program("NODE", "node"), "--input-type=module", "--eval", typeScriptProgram)
}

// run runs a client program, which prints the number of objects that it has listed, and returns that
// number.
func (c *caller) run(ctx context.Context, namespace string, command ...string) (objects int, err error) {
	arguments := append(command[1:],
		"https://"+c.service.address, c.lab.cluster.file("pki", "ca.crt"), namespace, strconv.Itoa(clientLists))
	printed, err := exec.CommandContext(ctx, command[0], arguments...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return 0, fmt.Errorf("%s: %w: %s", command[0], err, failed.Stderr)
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(printed)))
}
