package filter

// Budget bounds the cost of a filter for many objects together, at some seconds of a processor. The
// zero value is unspent; a nil budget is unlimited. It is not safe for concurrent use.
type Budget struct{ spent uint64 }

func (b *Budget) spend(cost uint64) {
	if b != nil {
		b.spent += cost
	}
}

// Left returns ErrTooCostly if the budget is spent.
func (b *Budget) Left() error {
	if b != nil && b.spent > maxListCost {
		return ErrTooCostly
	}
	return nil
}
