package validate

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Order is the order of a page, computed from what was written and without the service's code. The
// zero value is the default order.
type Order struct {
	keys []orderKey
}

// orderKey is one path of an order_by.
type orderKey struct {
	path       []string
	descending bool
}

// OrderOf parses an order_by whose paths are those that a View parses.
func OrderOf(orderBy string) (Order, error) {
	var order Order
	if orderBy == "" {
		return order, nil
	}
	for part := range strings.SplitSeq(orderBy, ",") {
		field, descending := strings.CutSuffix(strings.TrimSpace(part), " desc")
		path, err := membersOf(field)
		if err != nil {
			return Order{}, err
		}
		order.keys = append(order.keys, orderKey{path, descending})
	}
	return order, nil
}

// compare compares two states of objects.
func (o Order) compare(a, b *Write) int {
	for _, key := range o.keys {
		valueA, _ := memberOf(a.Content, key.path...)
		valueB, _ := memberOf(b.Content, key.path...)
		if order := compareValues(valueA, valueB); order != 0 {
			if key.descending {
				return -order
			}
			return order
		}
	}
	return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
}

// compareValues compares two values as decoded by encoding/json: missing values first, then false
// and true, then numbers and quantities by value, then strings in natural order.
func compareValues(a, b any) int {
	kindA, quantityA := kindOf(a)
	kindB, quantityB := kindOf(b)
	switch {
	case kindA != kindB:
		return cmp.Compare(kindA, kindB)
	case kindA == quantities:
		return quantityA.Cmp(quantityB)
	case kindA == texts:
		return compareNaturally(a.(string), b.(string))
	}
	return 0
}

// The kinds of values, in their order.
const (
	missingValues = iota
	falseValues
	trueValues
	quantities
	texts
)

func kindOf(value any) (kind int, quantity resource.Quantity) {
	switch value := value.(type) {
	case nil:
		return missingValues, quantity
	case bool:
		if value {
			return trueValues, quantity
		}
		return falseValues, quantity
	case string:
		quantity, err := resource.ParseQuantity(value)
		if err != nil {
			return texts, quantity
		}
		return quantities, quantity
	}
	return quantities, resource.MustParse(fmt.Sprint(value))
}

// compareNaturally compares two texts part by part: digits as numbers without leading zeros, the
// rest as bytes.
func compareNaturally(a, b string) int {
	for a != "" && b != "" {
		var partA, partB string
		partA, a = firstPart(a)
		partB, b = firstPart(b)
		order := cmp.Compare(partA, partB)
		if isDigit(partA[0]) && isDigit(partB[0]) {
			order = cmp.Or(cmp.Compare(len(partA), len(partB)), order)
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(a, b)
}

// firstPart splits a text after its first digits, or before them.
func firstPart(text string) (part, rest string) {
	end := 1
	for end < len(text) && isDigit(text[end]) == isDigit(text[0]) {
		end++
	}
	return text[:end], text[end:]
}

func isDigit(char byte) bool { return '0' <= char && char <= '9' }
