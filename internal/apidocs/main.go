// Command apidocs is a plugin of protoc and buf. It writes the reference of the API as Markdown, a
// page for each package, from the comments of the .proto files.
package main

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
)

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error {
		plugin.SupportedFeatures = supportedFeatures
		packages := make(map[string][]*protogen.File)
		for _, file := range plugin.Files {
			if name := string(file.Desc.Package()); file.Generate {
				packages[name] = append(packages[name], file)
			}
		}
		for name, files := range packages {
			slices.SortFunc(files, func(a, b *protogen.File) int { return strings.Compare(a.Desc.Path(), b.Desc.Path()) })
			_, err := plugin.NewGeneratedFile(name+".md", "").Write([]byte(newPage(name, files).render()))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
