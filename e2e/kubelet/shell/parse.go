package shell

import (
	"errors"
	"fmt"
	"strings"
)

// errIncomplete is the error of a script that ends within quotes or after an operator: more lines can complete it.
var errIncomplete = errors.New("syntax error: unexpected end of file")

// list is commands in order, each with the operator before it: "" or ";", "&&" or "||".
type list []listed

type listed struct {
	operator string
	pipeline []*simple
}

// simple is a command without operators.
type simple struct {
	assignments []assignment
	words       []word
	redirects   []redirect
}

type assignment struct {
	name  string
	value word
}

type redirect struct {
	operator string // <, >, >>, 2>, 2>> or 2>&1 or >&2, of which the last two have no target
	target   word
}

// word is what becomes an argument. An unquoted part that is a variable can become several, or none.
type word []part

type part struct {
	text     string // or the name of the variable
	variable bool
	quoted   bool
}

// token is a word or an operator.
type token struct {
	operator string // "" for a word
	word     word
}

// operators in the order in which they are tried: each before those that it begins with.
var operators = []string{"2>&1", "1>&2", ">&2", "2>>", "2>", "1>", ">>", "&&", "||", ">", "<", "|", ";", "\n"}

// parse parses a script.
func parse(script string) (list, error) {
	tokens, err := tokenize(script)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	return p.list()
}

type parser struct{ tokens []token }

// next removes the next token if it is one of the operators.
func (p *parser) next(operators ...string) (string, bool) {
	for _, operator := range operators {
		if len(p.tokens) > 0 && p.tokens[0].operator == operator {
			p.tokens = p.tokens[1:]
			return operator, true
		}
	}
	return "", false
}

func (p *parser) skipLines() {
	for ok := true; ok; {
		_, ok = p.next("\n")
	}
}

func (p *parser) list() (commands list, err error) {
	operator := ""
	for {
		p.skipLines()
		if len(p.tokens) == 0 {
			if operator == "&&" || operator == "||" {
				return nil, errIncomplete
			}
			return commands, nil
		}
		pipeline, err := p.pipeline()
		if err != nil {
			return nil, err
		}
		commands = append(commands, listed{operator, pipeline})
		var ok bool
		if operator, ok = p.next(";", "\n", "&&", "||"); !ok && len(p.tokens) > 0 {
			return nil, p.unexpected()
		}
	}
}

func (p *parser) unexpected() error {
	if len(p.tokens) == 0 {
		return errIncomplete
	}
	return fmt.Errorf("syntax error: unexpected %q", p.tokens[0].operator)
}

func (p *parser) pipeline() (commands []*simple, err error) {
	for {
		command, err := p.simple()
		if err != nil {
			return nil, err
		}
		commands = append(commands, command)
		if _, ok := p.next("|"); !ok {
			return commands, nil
		}
		p.skipLines()
	}
}

func (p *parser) simple() (*simple, error) {
	command := &simple{}
	for len(p.tokens) > 0 {
		if operator, ok := p.next("2>&1", "1>&2", ">&2"); ok {
			command.redirects = append(command.redirects, redirect{operator: operator})
			continue
		}
		if operator, ok := p.next("2>>", "2>", "1>", ">>", ">", "<"); ok {
			if len(p.tokens) == 0 || p.tokens[0].operator != "" {
				return nil, p.unexpected()
			}
			command.redirects = append(command.redirects, redirect{operator, p.tokens[0].word})
		} else if p.tokens[0].operator != "" {
			break
		} else if name, value, ok := p.tokens[0].word.assignment(); ok && len(command.words) == 0 {
			command.assignments = append(command.assignments, assignment{name, value})
		} else {
			command.words = append(command.words, p.tokens[0].word)
		}
		p.tokens = p.tokens[1:]
	}
	if len(command.words)+len(command.assignments)+len(command.redirects) == 0 {
		return nil, p.unexpected()
	}
	return command, nil
}

// assignment returns the parts of a word of the form NAME=value.
func (w word) assignment() (name string, value word, ok bool) {
	if len(w) == 0 || w[0].variable || w[0].quoted {
		return "", nil, false
	}
	name, text, ok := strings.Cut(w[0].text, "=")
	if !ok || name == "" || nameLength(name) != len(name) {
		return "", nil, false
	}
	return name, append(word{{text: text, quoted: true}}, w[1:]...), true
}

// nameLength returns the length of the name of a variable at the beginning of a text.
func nameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}

// tokenizer reads a script from its beginning.
type tokenizer struct {
	rest   string
	tokens []token
	word   word
	inWord bool // a word has begun; it may be empty, as "" is
}

func tokenize(script string) ([]token, error) {
	t := &tokenizer{rest: script}
	for t.rest != "" {
		if err := t.next(); err != nil {
			return nil, err
		}
	}
	t.endWord()
	return t.tokens, nil
}

func (t *tokenizer) endWord() {
	if t.inWord {
		t.tokens = append(t.tokens, token{word: t.word})
	}
	t.word, t.inWord = nil, false
}

func (t *tokenizer) add(text string, quoted bool) {
	t.inWord = true
	if last := len(t.word) - 1; last >= 0 && !t.word[last].variable && t.word[last].quoted == quoted {
		t.word[last].text += text
		return
	}
	t.word = append(t.word, part{text: text, quoted: quoted})
}

func (t *tokenizer) next() error {
	if operator := t.operator(); operator != "" {
		t.endWord()
		t.tokens, t.rest = append(t.tokens, token{operator: operator}), t.rest[len(operator):]
		return nil
	}
	first := t.rest[0]
	t.rest = t.rest[1:]
	switch first {
	case ' ', '\t', '\r':
		t.endWord()
	case '#':
		if t.inWord {
			t.add("#", false)
			return nil
		}
		_, rest, found := strings.Cut(t.rest, "\n")
		if t.rest = ""; found {
			t.rest = "\n" + rest
		}
	case '\\':
		return t.escape()
	case '\'':
		text, rest, found := strings.Cut(t.rest, "'")
		if !found {
			return errIncomplete
		}
		t.add(text, true)
		t.rest = rest
	case '"':
		return t.doubleQuoted()
	case '$':
		t.variable(false)
	case '&', '(', ')', '`':
		return fmt.Errorf("syntax error: unexpected %q", first)
	default:
		t.add(string([]byte{first}), false)
	}
	return nil
}

// operator returns the operator at the beginning; "" if there is none. One that begins with a digit does so only where
// a word could begin.
func (t *tokenizer) operator() string {
	for _, operator := range operators {
		if strings.HasPrefix(t.rest, operator) && (!t.inWord || operator[0] > '9' || operator[0] < '0') {
			return operator
		}
	}
	return ""
}

func (t *tokenizer) escape() error {
	if t.rest == "" {
		return errIncomplete
	}
	if t.rest[0] != '\n' {
		t.add(t.rest[:1], true)
	}
	t.rest = t.rest[1:]
	return nil
}

func (t *tokenizer) doubleQuoted() error {
	t.add("", true)
	for t.rest != "" {
		first := t.rest[0]
		t.rest = t.rest[1:]
		switch {
		case first == '"':
			return nil
		case first == '$':
			t.variable(true)
		case first == '\\' && t.rest != "" && strings.ContainsRune("$`\"\\\n", rune(t.rest[0])):
			if t.rest[0] != '\n' {
				t.add(t.rest[:1], true)
			}
			t.rest = t.rest[1:]
		default:
			t.add(string([]byte{first}), true)
		}
	}
	return errIncomplete
}

// variable reads what follows a dollar sign.
func (t *tokenizer) variable(quoted bool) {
	length := nameLength(t.rest)
	name, rest := t.rest[:length], t.rest[length:]
	if braced, after, ok := strings.Cut(strings.TrimPrefix(t.rest, "{"), "}"); ok && strings.HasPrefix(t.rest, "{") {
		name, rest = braced, after
	} else if length == 0 && t.rest != "" && strings.ContainsRune("?#@*$0123456789", rune(t.rest[0])) {
		name, rest = t.rest[:1], t.rest[1:]
	}
	if name == "" {
		t.add("$", quoted)
		return
	}
	t.inWord, t.rest = true, rest
	t.word = append(t.word, part{text: name, variable: true, quoted: quoted})
}
