package main

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const supportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)

// page is the reference of one package while it is written.
type page struct {
	name  string
	files []*protogen.File
	types map[string]bool // the messages and enums of the package, by name
	text  strings.Builder
}

func newPage(name string, files []*protogen.File) *page {
	p := &page{name: name, files: files, types: make(map[string]bool)}
	for _, file := range files {
		for _, message := range file.Messages {
			p.types[string(message.Desc.Name())] = true
		}
		for _, enum := range file.Enums {
			p.types[string(enum.Desc.Name())] = true
		}
	}
	return p
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// render returns the page: the services, and then the messages and enums of each file.
func (p *page) render() string {
	p.printf("# API: `%s`\n\n", p.name)
	p.printf("Every field, default and error of the API, from the comments in `proto/`. In JSON, the names of\n" +
		"fields are in camelCase (`label_selector` is `labelSelector`), 64-bit numbers are strings, and bytes\n" +
		"are base64. [Plain HTTP](../http.md) describes calls without a client.\n")
	for _, file := range p.files {
		for _, service := range file.Services {
			p.service(service)
		}
	}
	for _, file := range p.files {
		p.typesOf(file)
	}
	return strings.TrimRight(p.text.String(), "\n") + "\n"
}

func (p *page) service(service *protogen.Service) {
	name := string(service.Desc.Name())
	p.printf("\n## %s { #%s }\n\n%s", name, name, p.prose(service.Comments.Leading, ""))
	for _, method := range service.Methods {
		p.method(name, method)
	}
}

func (p *page) method(service string, method *protogen.Method) {
	name := string(method.Desc.Name())
	p.printf("\n### %s { #%s.%s }\n\n", name, service, name)
	p.printf("`/%s.%s/%s` · %s → %s%s\n\n%s", p.name, service, name,
		p.link(string(method.Input.Desc.Name())), streamOf(method), p.link(string(method.Output.Desc.Name())),
		p.prose(method.Comments.Leading, ""))
	options, _ := method.Desc.Options().(*descriptorpb.MethodOptions)
	if options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
		p.printf("\nIt can also be called by HTTP GET.\n")
	}
}

func streamOf(method *protogen.Method) string {
	if method.Desc.IsStreamingServer() {
		return "a stream of "
	}
	return ""
}

// typesOf writes the messages and enums of a file, under the name of the file.
func (p *page) typesOf(file *protogen.File) {
	if len(file.Messages)+len(file.Enums) == 0 {
		return
	}
	_, name, _ := strings.Cut(file.Desc.Path(), "v1/")
	p.printf("\n## %s { #%s }\n", name, name)
	for _, message := range file.Messages {
		p.message(message)
	}
	for _, enum := range file.Enums {
		p.enum(enum)
	}
}

func (p *page) message(message *protogen.Message) {
	name := string(message.Desc.Name())
	p.printf("\n### %s { #%s }\n\n%s", name, name, p.prose(message.Comments.Leading, ""))
	for _, field := range message.Fields {
		p.printf("\n- **`%s`** · %s\n\n%s", field.Desc.Name(), p.typeOf(field), p.prose(field.Comments.Leading, "    "))
	}
}

// typeOf returns the type of a field, with links to the types of the package.
func (p *page) typeOf(field *protogen.Field) string {
	kind := field.Desc.Kind().String()
	switch {
	case field.Desc.IsMap():
		return fmt.Sprintf("map of %s to %s", field.Desc.MapKey().Kind(), p.typeOf(field.Message.Fields[1]))
	case field.Message != nil:
		kind = p.typeName(field.Message.Desc)
	case field.Enum != nil:
		kind = p.typeName(field.Enum.Desc)
	}
	oneof := field.Desc.ContainingOneof()
	switch {
	case field.Desc.IsList():
		return "repeated " + kind
	case oneof != nil && oneof.IsSynthetic():
		return "optional " + kind
	case oneof != nil:
		return fmt.Sprintf("%s, one of `%s`", kind, oneof.Name())
	}
	return kind
}

func (p *page) typeName(described protoreflect.Descriptor) string {
	if string(described.ParentFile().Package()) != p.name {
		return "`" + string(described.FullName()) + "`"
	}
	return p.link(string(described.Name()))
}

func (p *page) enum(enum *protogen.Enum) {
	name := string(enum.Desc.Name())
	p.printf("\n### %s { #%s }\n\n%s", name, name, p.prose(enum.Comments.Leading, ""))
	for _, value := range enum.Values {
		p.printf("\n- **`%s`** = %d\n\n%s", value.Desc.Name(), value.Desc.Number(), p.prose(value.Comments.Leading, "    "))
	}
}

func (p *page) link(name string) string { return fmt.Sprintf("[%s](#%s)", name, name) }

// typeLike matches names that are written like those of messages, and are no words.
var typeLike = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z][A-Za-z]*\b`)

// markup escapes what Markdown would interpret and the comments mean literally, as in "items[*]".
var markup = strings.NewReplacer("*", `\*`, "<", "&lt;", "[", `\[`)

// prose returns a comment as Markdown with an indent. Paragraphs and lists remain, and names of
// messages become links.
func (p *page) prose(comment protogen.Comments, indent string) string {
	var text strings.Builder
	inList := false
	for line := range strings.Lines(string(comment)) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), " ")
		if begins := strings.HasPrefix(line, "- "); begins && !inList {
			text.WriteByte('\n') // Markdown needs an empty line before a list
			inList = true
		} else if line == "" {
			inList = false
		}
		if line != "" {
			text.WriteString(indent + p.linked(markup.Replace(line)))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// linked turns the names of the package's messages into links.
func (p *page) linked(line string) string {
	return typeLike.ReplaceAllStringFunc(line, func(name string) string {
		if !p.types[name] {
			return name
		}
		return p.link(name)
	})
}
