package filter

// Budget is what a filter may cost for many objects together: some seconds of a
// processor. The zero value is not spent; nil has no end. It is not safe for concurrent
// use.
type Budget struct{ spent uint64 }

func (b *Budget) spend(cost uint64) {
	if b != nil {
		b.spent += cost
	}
}

// Left is an error, ErrTooCostly, if the budget is spent.
func (b *Budget) Left() error {
	if b != nil && b.spent > maxListCost {
		return ErrTooCostly
	}
	return nil
}
