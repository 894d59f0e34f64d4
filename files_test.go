package kubeconnect_test

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// foreignFolders have files that are installed, built or recorded.
var foreignFolders = []string{"node_modules", "bin", "dist", "testdata", "artifacts"}

// kubernetesTypes has the API documentation of Kubernetes, in its words.
const kubernetesTypes = "clients/ts/src/k8s"

// writtenFiles returns the files that people write and whose names have one of the suffixes, by
// their paths in the repository. They include those of its other modules.
func writtenFiles(t *testing.T, suffixes ...string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains(foreignFolders, entry.Name())):
			return fs.SkipDir
		case filepath.ToSlash(name) == kubernetesTypes:
			return fs.SkipDir
		case entry.Type().IsRegular() && slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }):
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestDocs_NameFilesThatExist checks the files and folders that the documentation of developers and users
// names: in the code of its Markdown, and in the comments of doc.go. A file can be named without its folder,
// or with the end of it, where no other file of the repository has that name.
func TestDocs_NameFilesThatExist(t *testing.T) {
	t.Parallel()
	files, checked := writtenFiles(t, ""), 0
	for _, file := range files {
		if !isDocumentation(file) {
			continue
		}
		text := readDoc(t, file)
		if strings.HasSuffix(file, ".md") {
			text = inlineCode(text)
		}
		for _, name := range fileNames(text, files) {
			checked++
			if problem := nameProblem(file, name, files); problem != "" {
				t.Errorf("%s names %s, %s", file, name, problem)
			}
		}
	}
	if checked < 100 {
		t.Fatalf("%d names were checked: this test looks in the wrong place", checked)
	}
}

func TestNameProblem_ReportsNamesThatAreGoneOrAmbiguous(t *testing.T) {
	t.Parallel()
	files := []string{"docs/flags.md", "auth/doc.go", "server/doc.go", "server/watch.go", "server/joins/page.go", "server/page.go"}
	for name, test := range map[string]struct{ doc, name, want string }{
		"a path":                      {doc: "ARCHITECTURE.md", name: "server/watch.go"},
		"a folder":                    {doc: "ARCHITECTURE.md", name: "server/joins"},
		"a unique name":               {doc: "ARCHITECTURE.md", name: "watch.go"},
		"the end of a path":           {doc: "ARCHITECTURE.md", name: "joins/page.go"},
		"in the folder of a doc":      {doc: "server/doc.go", name: "page.go"},
		"a name of many files":        {doc: "ARCHITECTURE.md", name: "doc.go"},
		"a folder of results":         {doc: "ARCHITECTURE.md", name: "server/artifacts"},
		"an ambiguous name":           {doc: "ARCHITECTURE.md", name: "page.go", want: "which is server/joins/page.go and server/page.go: name its folder"},
		"a file that is gone":         {doc: "ARCHITECTURE.md", name: "server/gone.go", want: "which does not exist"},
		"a folder that is gone":       {doc: "docs/flags.md", name: "server/gone", want: "which does not exist"},
		"the end of a name is no end": {doc: "docs/flags.md", name: "atch.go", want: "which does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := nameProblem(test.doc, test.name, files); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// isDocumentation reports whether people read a file to understand the repository. What is generated names
// no files of it.
func isDocumentation(file string) bool {
	return path.Base(file) == "doc.go" || strings.HasSuffix(file, ".md") &&
		(!strings.Contains(file, "/") || strings.HasPrefix(file, "docs/") && !strings.HasPrefix(file, "docs/api/"))
}

// inlineCode returns the code within the lines of a Markdown text, and not its blocks of code, which are
// programs and commands of the reader.
func inlineCode(text string) string {
	text = regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(text, "")
	return strings.Join(regexp.MustCompile("`[^`\n]+`").FindAllString(text, -1), " ")
}

// fileNames returns the names in a text that can only be of files and folders of the repository: sources
// and pages, and what begins with one of its folders. Others may be of files of the reader.
func fileNames(text string, files []string) (names []string) {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return !isNameRune(r) }) {
		name = strings.TrimRight(name, "./")
		folder, _, inFolder := strings.Cut(name, "/")
		switch path.Ext(name) {
		case ".go", ".md", ".proto":
		default:
			if !inFolder || !slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file, folder+"/") }) {
				continue
			}
		}
		if path.Base(name) != path.Ext(name) && !strings.HasPrefix(name, "/") && !strings.Contains(name, "*") {
			names = append(names, name)
		}
	}
	return names
}

func isNameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/*", r)
}

// nameProblem returns what is wrong with the name of a file or folder in a document; empty if nothing is.
func nameProblem(doc, name string, files []string) string {
	if name == "doc.go" || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return slices.Contains(foreignFolders, part)
	}) {
		return ""
	}
	var found []string
	for _, file := range files {
		switch {
		case file == name, file == path.Join(path.Dir(doc), name), strings.HasPrefix(file, name+"/"):
			return ""
		case strings.HasSuffix(file, "/"+name):
			found = append(found, file)
		}
	}
	switch len(found) {
	case 0:
		return "which does not exist"
	case 1:
		return ""
	}
	return fmt.Sprintf("which is %s: name its folder", strings.Join(found, " and "))
}

var (
	memberName = regexp.MustCompile("`([A-Za-z]\\w*)\\.(\\w+)`")
	goMember   = regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)(?:\[[^\]]*\])?\) (\w+)`)
	goFunction = regexp.MustCompile(`(?m)^(?:func|type) (\w+)`)
	goField    = regexp.MustCompile(`(?m)^\t(\w+)\s`)
	goPackage  = regexp.MustCompile(`(?m)^package (\w+)`)
	goStruct   = regexp.MustCompile(`(?ms)^type (\w+)(?:\[[^\]]*\])? (?:struct|interface) \{\n(.*?)^\}`)
	pyClass    = regexp.MustCompile(`(?ms)^class (\w+)(.*?)(?:^\w|\z)`)
	pyMember   = regexp.MustCompile(`(?m)^    (?:async )?def (\w+)`)
)

// TestArchitecture_NamesMembersThatExist checks what ARCHITECTURE.md names as a member of a type, or of a package.
func TestArchitecture_NamesMembersThatExist(t *testing.T) {
	t.Parallel()
	members := map[string]bool{}
	for _, file := range writtenFiles(t, ".go", ".py") {
		text := readDoc(t, file)
		if strings.HasSuffix(file, ".py") {
			for _, class := range pyClass.FindAllStringSubmatch(text, -1) {
				for _, member := range pyMember.FindAllStringSubmatch(class[2], -1) {
					members[class[1]+"."+member[1]] = true
				}
			}
			continue
		}
		for _, method := range goMember.FindAllStringSubmatch(text, -1) {
			members[method[1]+"."+method[2]] = true
		}
		for _, function := range goFunction.FindAllStringSubmatch(text, -1) {
			members[goPackage.FindStringSubmatch(text)[1]+"."+function[1]] = true
		}
		for _, of := range goStruct.FindAllStringSubmatch(text, -1) {
			for _, field := range goField.FindAllStringSubmatch(of[2], -1) {
				members[of[1]+"."+field[1]] = true
			}
		}
	}
	named := memberName.FindAllStringSubmatch(readDoc(t, "ARCHITECTURE.md"), -1)
	if len(named) < 50 {
		t.Fatalf("only %d members are named", len(named))
	}
	for _, name := range named {
		isFile := slices.Contains([]string{"go", "md", "py"}, name[2])
		if full := name[1] + "." + name[2]; !isFile && full != "rest.Config" && !members[full] {
			t.Errorf("%s does not exist", full)
		}
	}
}
