package clients_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// gadgetSchema is the schema of a custom resource, with what a schema can have.
const gadgetSchema = `{
	"type": "object",
	"description": "A gadget. */ export const injected = 1; /*",
	"required": ["spec"],
	"properties": {
		"spec": {
			"type": "object",
			"required": ["size"],
			"properties": {
				"size": {"x-kubernetes-int-or-string": true, "description": "Its size."},
				"mode": {"type": "string", "enum": ["fast", "slow"]},
				"ports": {"type": "array", "items": {"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}}}},
				"labels": {"type": "object", "additionalProperties": {"type": "string"}},
				"note": {"type": "string", "nullable": true},
				"any": {"x-kubernetes-preserve-unknown-fields": true}
			}
		},
		"status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	}
}`

// gadgetProgram creates a gadget, and prints what its types describe. %[1]s is the resource, %[2]s the
// namespace.
const gadgetProgram = `import { connect } from "@kubeconnect/client/node";
import type { Gadget, GadgetSpecPort } from "./types.js";

const client = connect(process.argv[2]!);
const ports: GadgetSpecPort[] = [{ port: 80 }];
const { object } = await client.create("%[1]s", {
  metadata: { name: "a", namespace: "%[2]s" },
  spec: { size: "10%%", mode: "fast", ports, labels: { a: "b" }, note: null, any: [1] },
});
const gadget: Gadget = object.value;
const mode: "fast" | "slow" | undefined = gadget.spec.mode;
console.log(gadget.kind, gadget.metadata.name, gadget.spec.size, mode, gadget.spec.ports?.[0]?.port);
// @ts-expect-error: the enum has no such value
const wrong: Gadget["spec"]["mode"] = "other";
// @ts-expect-error: the size is required
const missing: Gadget["spec"] = { mode: wrong };
void missing;
client.close();
`

// builtInProgram writes and reads a config map, and prints what the built-in types describe.
const builtInProgram = `import { connect } from "@kubeconnect/client/node";
import type { ConfigMap } from "@kubeconnect/client/k8s/core/v1";

const client = connect(process.argv[2]!);
const namespace = "%[2]s";
await client.create("configmaps", { metadata: { name: "a", namespace }, data: { color: "red" } });
const { objects } = await client.list("cm", { namespace, fieldSelector: "metadata.name=a" }).all();
for (const { value } of objects) {
  const map: ConfigMap = value;
  const uid: string = value.metadata.uid;
  console.log(map.kind, value.metadata.name, uid.length > 0, value.data?.["color"]);
  // @ts-expect-error: a config map has no spec
  console.log(value.spec === undefined);
}
client.close();
`

// TestTypeScript_HasTypesOfTheCluster compiles strict programs, without types of browsers, with the
// types that the command line writes and those of the package, and runs them.
func TestTypeScript_HasTypesOfTheCluster(t *testing.T) {
	t.Parallel()
	p := newTypedPrograms(t)
	gadgets := kit.NewCustomResource(p.ctx, t, kit.Cluster(t), p.namespace)
	gadgets.Define("v1")
	defer gadgets.Remove()
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": %s}, {"op": "remove", "path": "/spec/versions/0/selectableFields"}]`, gadgetSchema)
	gadgets.Patch(types.JSONPatchType, []byte(patch))

	p.writeTypes(gadgets.Name())
	if all, err := p.types(); err != nil || !strings.Contains(all, fmt.Sprintf("    %q: Gadget", gadgets.Name())) {
		t.Errorf("the types of all custom resources: %v\n%s", err, all)
	}
	p.wantPrints(fmt.Sprintf(gadgetProgram, gadgets.Name(), p.namespace), "Gadget a 10% fast 80")
	p.wantPrints(fmt.Sprintf(builtInProgram, "", p.namespace), "ConfigMap a true red", "true")
	p.wantFailure(`"nothings.example.com"`, "--resource", "nothings.example.com")
}

// typedPrograms compiles and runs programs in a folder of their own, in which the package is installed.
type typedPrograms struct {
	t         *testing.T
	ctx       context.Context
	folder    string
	address   string
	namespace string
}

func newTypedPrograms(t *testing.T) typedPrograms {
	t.Helper()
	ctx := kit.Deadline(t)
	p := typedPrograms{t: t, ctx: ctx, folder: t.TempDir(), namespace: kit.NewNamespace(ctx, t, kit.Cluster(t))}
	p.address = harness.StartService(t, kit.Cluster(t).Kubeconfig).Address
	p.link(p.path("clients", "ts"), "@kubeconnect", "client")
	p.link(p.path("clients", "node_modules", "@types", "node"), "@types", "node")
	p.write("package.json", `{"type": "module"}`)
	return p
}

func (p typedPrograms) path(elements ...string) string {
	p.t.Helper()
	path, err := harness.Path(elements...)
	if err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p typedPrograms) link(target, scope, name string) {
	p.t.Helper()
	scope = filepath.Join(p.folder, "node_modules", scope)
	if err := os.MkdirAll(scope, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(scope, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p typedPrograms) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// run returns what a program of Node.js prints in the folder.
func (p typedPrograms) run(args ...string) (string, error) {
	command := exec.CommandContext(p.ctx, "node", args...)
	command.Dir = p.folder
	printed, err := command.CombinedOutput()
	return string(printed), err
}

func (p typedPrograms) types(args ...string) (string, error) {
	cli := p.path("clients", "ts", "dist", "cli.js")
	return p.run(append([]string{cli, "types", "--address", p.address}, args...)...)
}

// writeTypes writes the types of a custom resource. The API server publishes a schema some seconds after
// its CRD has changed.
func (p typedPrograms) writeTypes(resource string) {
	p.t.Helper()
	kit.Eventually(p.ctx, p.t, "the schema is published", func() error {
		if printed, err := p.types("-o", "types.d.ts", "--resource", resource); err != nil {
			return fmt.Errorf("%w: %s", err, printed)
		}
		written, err := os.ReadFile(filepath.Join(p.folder, "types.d.ts"))
		if err != nil {
			return err
		}
		if !strings.Contains(string(written), fmt.Sprintf("%q: Gadget", resource)) || !strings.Contains(string(written), "/** Its size. */") {
			return fmt.Errorf("the types of %s are missing:\n%s", resource, written)
		}
		return nil
	})
}

// wantPrints fails the test unless the program compiles, and prints these lines.
func (p typedPrograms) wantPrints(program string, want ...string) {
	p.t.Helper()
	p.write("program.mts", program)
	options := []string{"--strict", "--skipLibCheck", "false", "--module", "nodenext", "--target", "es2022", "--lib", "es2022", "--types", "node"}
	if printed, err := p.run(append([]string{p.path("clients", "node_modules", "typescript", "bin", "tsc"), "program.mts", "types.d.ts"}, options...)...); err != nil {
		p.t.Fatalf("compile: %v\n%s\n%s", err, printed, program)
	}
	printed, err := p.run("program.mjs", p.address)
	if err != nil || printed != strings.Join(want, "\n")+"\n" {
		p.t.Errorf("run: %v: got\n%s\nwant %q", err, printed, want)
	}
}

// wantFailure fails the test unless the command line fails with a message.
func (p typedPrograms) wantFailure(message string, args ...string) {
	p.t.Helper()
	if printed, err := p.types(args...); err == nil || !strings.HasPrefix(printed, "error: ") || !strings.Contains(printed, message) {
		p.t.Errorf("%q: %v: got %q, want %s", args, err, printed, message)
	}
}
