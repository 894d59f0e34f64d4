package mask

import "github.com/kubeconnect/kubeconnect/informerhub/jsonscan"

// Values calls visit with each value that the path leads to in JSON text, as written there, in
// order. Of members with the same name, only the first one is used. For malformed text, it visits
// the values that it finds before the mistake.
func (p Path) Values(text []byte, visit func(value []byte)) {
	values(text, jsonscan.SkipSpace(text, 0), p, visit)
}

func values(text []byte, i int, path Path, visit func([]byte)) {
	switch {
	case i < 0 || i >= len(text):
	case len(path) == 0:
		if end := jsonscan.SkipValue(text, i); end > 0 {
			visit(text[i:end])
		}
	case text[i] == '{':
		memberValues(text, i+1, path, visit)
	case text[i] == '[' && path[0].Each:
		elementValues(text, i+1, path, visit)
	}
}

func memberValues(text []byte, i int, path Path, visit func([]byte)) {
	for first := true; i >= 0; first = false {
		key, keyEnd, value := jsonscan.NextMember(text, i, first)
		if value < 0 || key == value {
			return
		}
		if path[0].Each {
			values(text, value, path[1:], visit)
		} else if jsonscan.Unquote(text[key:keyEnd]) == path[0].Name {
			values(text, value, path[1:], visit)
			return
		}
		i = jsonscan.SkipValue(text, value)
	}
}

func elementValues(text []byte, i int, path Path, visit func([]byte)) {
	for first := true; i >= 0; first = false {
		element, atEnd := jsonscan.NextElement(text, i, first)
		if atEnd {
			return
		}
		values(text, element, path[1:], visit)
		i = jsonscan.SkipValue(text, element)
	}
}
