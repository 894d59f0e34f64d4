//go:build ignore

// This program writes quantities.json: each text in the tests of k8s.io/apimachinery's quantities,
// also with a sign, with the value and the canonical form according to apimachinery.
//
//	go run ./clients/python/tests/data/quantities.go > clients/python/tests/data/quantities.json
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// testCase is one line of the output. An invalid text has only the text.
type testCase struct {
	Text      string `json:"text"`
	Value     string `json:"value,omitempty"`
	Canonical string `json:"canonical,omitempty"`
}

func main() {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/apimachinery").Output()
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(folder)), "pkg/api/resource/quantity_test.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	var lines []string
	for _, text := range texts(file) {
		line, err := json.Marshal(read(text))
		if err != nil {
			log.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	fmt.Fprintf(os.Stdout, "[\n%s\n]\n", strings.Join(lines, ",\n"))
}

// texts returns the string literals of a file that could be quantities, with all signs.
func texts(file *ast.File) (found []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err == nil && len(text) < 40 && strings.ContainsAny(text, "0123456789") && !strings.ContainsAny(text, "%(:{/") {
			found = append(found, text, "+"+text, "-"+text)
		}
		return true
	})
	slices.Sort(found)
	return slices.Compact(found)
}

func read(text string) testCase {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return testCase{Text: text}
	}
	number, suffix := quantity.CanonicalizeBytes(nil) // String can return the text itself
	return testCase{Text: text, Value: quantity.AsDec().String(), Canonical: string(number) + string(suffix)}
}
