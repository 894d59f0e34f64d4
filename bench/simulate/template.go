package simulate

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed pod.json
var podJSON []byte

// ChangedAnnotation is the annotation of a pod with the time of its last change: the microseconds
// since 1970, modulo 10 to the power of [ChangedDigits], with leading zeros.
const (
	ChangedAnnotation = "simulate.example.com/changed"
	ChangedDigits     = 12
)

// place is a text of the template that is replaced. The replacement has the same length.
type place struct {
	text  string
	value func(p *Pods, number int, s state) uint64
}

// places are the texts of the template that differ between pods, and between versions of a pod.
var places = []place{
	{"NNNNNNN", func(_ *Pods, number int, _ state) uint64 { return uint64(number) }},
	{"IIII", func(_ *Pods, _ int, s state) uint64 { return uint64(s.incarnation) }},
	{"AAAAAA", func(_ *Pods, number int, _ state) uint64 { return uint64(number / podsOfApp) }},
	{"GGG", func(p *Pods, number int, _ state) uint64 { return uint64(p.namespaceOf(number)) }},
	{"DDDDDD", func(p *Pods, number int, _ state) uint64 { return uint64(number % p.nodes()) }},
	{"RRRRRRRRRR", func(_ *Pods, _ int, s state) uint64 { return s.version }},
	{"TTTTTTTTTTTT", func(_ *Pods, _ int, s state) uint64 { return uint64(s.changed) }},
	{"JJJ", func(_ *Pods, number int, _ state) uint64 { return uint64(100 + number/10000%100) }},
	{"KKK", func(_ *Pods, number int, _ state) uint64 { return uint64(100 + number/100%100) }},
	{"LLL", func(_ *Pods, number int, _ state) uint64 { return uint64(100 + number%100) }},
}

// phasePlace is the place of the phase. The phases have its length.
const phasePlace = "PPPPPPP"

var phases = [2]string{string(corev1.PodRunning), string(corev1.PodPending)}

// pattern is a text with places.
type pattern struct {
	text   []byte
	at     [][]int // the offsets of each place
	phases []int   // the offsets of phasePlace
}

func newPattern(text []byte) pattern {
	p := pattern{text: text, phases: offsets(text, phasePlace)}
	for _, place := range places {
		p.at = append(p.at, offsets(text, place.text))
	}
	return p
}

func offsets(text []byte, part string) (found []int) {
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(part))
		if at < 0 {
			return found
		}
		found = append(found, from+at)
		from += at + len(part)
	}
}

// append appends the text for a state of a pod.
func (t pattern) append(buffer []byte, p *Pods, number int, s state) []byte {
	start := len(buffer)
	buffer = append(buffer, t.text...)
	text := buffer[start:]
	for i, place := range places {
		if len(t.at[i]) == 0 {
			continue
		}
		value := place.value(p, number, s)
		for _, at := range t.at[i] {
			putDigits(text[at:at+len(place.text)], value)
		}
	}
	for _, at := range t.phases {
		copy(text[at:], phases[s.phase])
	}
	return buffer
}

// putDigits writes the last digits of a number, with leading zeros.
func putDigits(to []byte, value uint64) {
	for i := len(to) - 1; i >= 0; i-- {
		to[i] = byte('0' + value%10)
		value /= 10
	}
}

// template is a pod in one encoding.
type template struct {
	item     pattern
	events   map[string]pattern // the message of a watch, by the type of the event
	encoding encoding
}

// newTemplate returns the template of whole pods, or of their metadata.
func newTemplate(e encoding, metadataOnly bool) (template, error) {
	var pod corev1.Pod
	if err := json.Unmarshal(podJSON, &pod); err != nil {
		return template{}, fmt.Errorf("the template of the pods: %w", err)
	}
	pod.TypeMeta = metav1.TypeMeta{} // an item of a list has none
	object, kind := encodable(&pod), corev1.SchemeGroupVersion.WithKind("Pod")
	if metadataOnly {
		object = &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
		kind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	}
	return newTemplateOf(e, object, kind)
}

func newTemplateOf(e encoding, object encodable, kind schema.GroupVersionKind) (template, error) {
	item, err := e.item(object)
	if err != nil {
		return template{}, err
	}
	t := template{item: newPattern(item), events: make(map[string]pattern), encoding: e}
	for _, event := range []string{eventAdded, eventModified, eventDeleted} {
		message, err := e.event(event, object, kind)
		if err != nil {
			return template{}, err
		}
		t.events[event] = newPattern(message)
	}
	return t, nil
}

// encodable is an object that has both encodings.
type encodable interface {
	runtime.Object
	Marshal() ([]byte, error)
}
