package coverage_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const recipesFile = "testdata/recipes.yaml"

// recipe describes how to create a valid object. testdata/recipes.yaml documents its fields.
type recipe struct {
	Name         string            `json:"name"`
	Object       map[string]any    `json:"object"`
	Needs        []map[string]any  `json:"needs"`
	Change       map[string]any    `json:"change"`
	Invalid      map[string]any    `json:"invalid"`
	Settles      map[string]string `json:"settles"`
	Once         bool              `json:"once"`
	Unordered    bool              `json:"unordered"`
	Answers      bool              `json:"answers"`
	Refused      bool              `json:"refused"`
	Note         string            `json:"note"`
	Subresources map[string]recipe `json:"subresources"`
}

// The defaults of a recipe.
var (
	anyChange  = map[string]any{"metadata": map[string]any{"annotations": map[string]any{"step": "$(step)"}}}
	anyInvalid = map[string]any{"metadata": map[string]any{"labels": map[string]any{"-not valid-": ""}}}
)

type recipes map[string]recipe

func readRecipes(t *testing.T) (read recipes) {
	t.Helper()
	text, err := os.ReadFile(recipesFile)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// recipeOf returns the recipe of a resource's objects.
func (r recipes) recipeOf(t *testing.T, row row) recipe {
	t.Helper()
	name := strings.TrimSuffix(row.apiResource.Resource+"."+row.apiResource.Group, ".")
	found, ok := r[row.apiResource.Resource+"."+row.apiResource.Version+"."+row.apiResource.Group]
	if !ok {
		found, ok = r[name]
	}
	if !ok {
		t.Fatalf("no recipe for %s: add a recipe %q to e2e/coverage/%s", row.apiResource, name, recipesFile)
	}
	return found.completed("$(name)")
}

// sub returns the recipe of the objects that are read and written at a subresource.
func (r recipe) sub(t *testing.T, row row) recipe {
	t.Helper()
	found, ok := r.Subresources[row.subresource]
	if !ok {
		t.Fatalf("no recipe for subresource %s of %s: add it under \"subresources\" of its recipe in e2e/coverage/%s", row.name(), row.apiResource.GroupVersion(), recipesFile)
	}
	return found.completed(r.Name)
}

func (r recipe) completed(name string) recipe {
	if r.Name == "" {
		r.Name = name
	}
	if r.Change == nil {
		r.Change = anyChange
	}
	if r.Invalid == nil {
		r.Invalid = anyInvalid
	}
	return r
}

// variables maps names to the values for $(name) in a recipe.
type variables map[string]string

// substitute replaces the variables in a part of a recipe by their values.
func (v variables) substitute(part any) map[string]any {
	text, err := json.Marshal(part)
	if err != nil {
		panic(err)
	}
	substituted := string(text)
	if number, ok := v["number"]; ok { // a number has no quotes
		substituted = strings.ReplaceAll(substituted, `"$(number)"`, number)
	}
	values := map[string]any{}
	if err := json.Unmarshal([]byte(v.text(substituted)), &values); err != nil {
		panic(fmt.Sprintf("%s: %v", substituted, err))
	}
	return values
}

// text replaces the variables in a text by their values.
func (v variables) text(text string) string {
	for name, value := range v {
		text = strings.ReplaceAll(text, "$("+name+")", value)
	}
	return text
}

// outOf replaces the values in a text by their variables.
func (v variables) outOf(text string) string {
	for name, value := range v {
		text = strings.ReplaceAll(text, value, "$("+name+")")
	}
	return text
}
