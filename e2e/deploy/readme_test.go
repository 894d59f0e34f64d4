package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
)

// TestReadme_HasEveryValue compares the README of the chart with values.yaml, which it is generated
// from. With UPDATE=1 it writes the README.
func TestReadme_HasEveryValue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(chartDir, "README.md")
	chart, err := loadChart()
	succeeds(t, err)
	var parsed yaml.Node
	succeeds(t, yaml.Unmarshal(valuesFile(t, chart), &parsed))
	rows := valueRows(t, "", parsed.Content[0])
	for _, each := range rows {
		if each.comment == "" && !strings.Contains(each.path, ".") {
			t.Errorf("%s has no comment in values.yaml", each.path)
		}
	}
	want := readmeOf(chart, rows)
	if os.Getenv("UPDATE") == "1" {
		succeeds(t, os.WriteFile(path, want, 0o644))
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s does not match values.yaml: run `UPDATE=1 go test -run TestReadme .` in e2e/deploy (%v)", path, err)
	}
}

func valuesFile(t *testing.T, chart *chart.Chart) []byte {
	t.Helper()
	for _, file := range chart.Raw {
		if file.Name == "values.yaml" {
			return file.Data
		}
	}
	t.Fatal("the chart has no values.yaml")
	return nil
}

// valueRow is a value of the chart in the table of the README.
type valueRow struct{ path, standard, comment string }

// valueRows returns the values of a mapping. A mapping that the schema describes as a whole, such
// as that of the security contexts, is listed value by value too.
func valueRows(t *testing.T, prefix string, mapping *yaml.Node) (rows []valueRow) {
	t.Helper()
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		row := valueRow{path: prefix + key.Value, comment: commentText(key.HeadComment)}
		nested := value.Kind == yaml.MappingNode && len(value.Content) > 0
		if !nested {
			row.standard = inline(t, value)
		}
		if !nested || row.comment != "" {
			rows = append(rows, row)
		}
		if nested {
			rows = append(rows, valueRows(t, row.path+".", value)...)
		}
	}
	return rows
}

// inline returns a value as one line of YAML.
func inline(t *testing.T, value *yaml.Node) string {
	t.Helper()
	flow := *value
	if flow.Kind == yaml.SequenceNode && len(flow.Content) > 0 && flow.Content[0].Kind == yaml.MappingNode {
		return "see values.yaml"
	}
	flow.Style, flow.HeadComment = flow.Style|yaml.FlowStyle, ""
	text, err := yaml.Marshal(&flow)
	succeeds(t, err)
	return "`" + strings.Join(strings.Fields(string(text)), " ") + "`"
}

// commentText returns a comment as text of a table's cell. The lines of a list remain lines.
func commentText(comment string) string {
	var text strings.Builder
	for line := range strings.Lines(comment) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "#")
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "":
			text.WriteString("<br><br>")
		case text.Len() == 0:
			text.WriteString(trimmed)
		case strings.HasSuffix(text.String(), ".") && isChoice(line):
			text.WriteString("<br>" + trimmed)
		default:
			text.WriteString(" " + trimmed)
		}
	}
	return strings.NewReplacer("|", "\\|", "*", "\\*", "<br> ", "<br>").Replace(text.String())
}

// isChoice reports whether a line of a comment describes one of several choices, such as "secret: …".
func isChoice(line string) bool {
	word, _, found := strings.Cut(strings.TrimPrefix(line, " "), ": ")
	return found && !strings.Contains(word, " ") && word == strings.ToLower(word[:1])+word[1:]
}

const readmeBegin = `# kubeconnect

%s

This is version %s of the chart, for Kubernetes %s. It needs an image in a registry that your nodes
can reach, and a certificate:

` + "```sh" + `
kubectl create namespace kubeconnect
kubectl -n kubeconnect create secret tls kubeconnect-tls --cert=tls.crt --key=tls.key
helm install kubeconnect . --namespace kubeconnect \
  --set image.repository=registry.example.com/kubeconnect \
  --set tls.secretName=kubeconnect-tls
` + "```" + `

With cert-manager, instead of the Secret: ` + "`--set tls.mode=certManager --set tls.certManager.issuerRef.name=…`" + `.

## Values

This table is generated from the comments of values.yaml. Other values are rejected.

| Value | Default | |
|---|---|---|
`

func readmeOf(chart *chart.Chart, rows []valueRow) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, readmeBegin, chart.Metadata.Description, chart.Metadata.Version, strings.TrimSuffix(strings.TrimPrefix(chart.Metadata.KubeVersion, ">="), ".0-0")+" and later")
	for _, row := range rows {
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", row.path, row.standard, row.comment)
	}
	return text.Bytes()
}
