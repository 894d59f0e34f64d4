package ledger

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// ErrFull reports that memory was not charged, because the account, its caller, or all callers together
// would hold more than allowed. Its text is for callers.
var ErrFull = errors.New("too much memory is kept for your open streams, or for those of all callers: close some of them, select fewer objects, or send shorter requests")

// credentialPart and callerPart make the part of a caller that one of its credentials can hold: two
// fifths.
const credentialPart, callerPart = 2, 5

// Limits are the limits of a [Ledger].
type Limits struct {
	// Total is the number of bytes that all accounts together can hold.
	Total int
	// Undivided reports that all calls count as one caller, which can hold the total.
	Undivided bool
}

// Ledger has the memory that is kept for callers. Create it with [New].
type Ledger struct {
	limits   Limits   // set once
	shortage []func() // set before the first charge

	mu        sync.Mutex // guards the fields below, and all charges; no other lock is taken while it is held
	total     int
	byCaller  map[string]int
	byAccount map[Account]int
	shared    map[sharedKey]*entry
}

// sharedKey identifies a shared charge.
type sharedKey struct {
	account Account
	key     any
}

// New returns a ledger without charges.
func New(limits Limits) *Ledger {
	return &Ledger{
		limits: limits, byCaller: make(map[string]int), byAccount: make(map[Account]int), shared: make(map[sharedKey]*entry),
	}
}

// OnShortage registers a function that is called before a charge is refused. It releases charges of
// what is kept without need. A nil ledger is never short.
func (l *Ledger) OnShortage(release func()) {
	if l != nil {
		l.shortage = append(l.shortage, release)
	}
}

// Account returns the account of a credential of a caller. Both are keys that distinguish them from
// others. A nil ledger has free accounts only.
func (l *Ledger) Account(caller, credential string) Account {
	if l == nil {
		return Account{}
	}
	return Account{l, caller, credential}
}

// Use returns what all accounts hold. Nothing waits for a ledger.
func (l *Ledger) Use() fairqueue.Use {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fairqueue.Use{Held: int64(l.total), Capacity: int64(l.limits.Total)}
}

// Kept returns the bytes that are kept for each caller that has any, by its key. A nil ledger has none.
func (l *Ledger) Kept() map[string]int {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.byCaller)
}

// addLocked adds bytes to what an account holds, or removes them if they are negative.
func (l *Ledger) addLocked(to Account, bytes int) {
	l.total += bytes
	if l.byCaller[to.caller] += bytes; l.byCaller[to.caller] == 0 {
		delete(l.byCaller, to.caller)
	}
	if l.byAccount[to] += bytes; l.byAccount[to] == 0 {
		delete(l.byAccount, to)
	}
}

// fitsLocked reports whether an account can hold bytes in addition.
func (l *Ledger) fitsLocked(to Account, bytes int) bool {
	if l.limits.Undivided {
		return bytes <= l.limits.Total-l.total
	}
	byOthers := l.total - l.byCaller[to.caller]
	limit := (l.limits.Total - byOthers) / 2 // of the caller: as much again is left free
	return l.byCaller[to.caller]+bytes <= limit && l.byAccount[to]+bytes <= limit*credentialPart/callerPart
}

// Account is one credential of one caller in a ledger. Equal accounts are the same. The zero Account is
// free.
type Account struct {
	ledger             *Ledger
	caller, credential string
}

// Charge charges the account for bytes that are about to be kept, or fails with [ErrFull].
func (a Account) Charge(bytes int) (*Charge, error) {
	c := &Charge{ledger: a.ledger, entry: &entry{account: a, holders: 1}}
	return c, c.Resize(bytes)
}

// Share charges the account for bytes that are about to be kept under a comparable key, or fails with
// [ErrFull]. While another shared charge of the account has the key, the bytes are charged already: they
// count once, as the largest of the numbers.
func (a Account) Share(key any, bytes int) (*Charge, error) {
	if a.ledger == nil {
		return a.Charge(bytes)
	}
	c := a.ledger.join(sharedKey{a, key})
	if err := c.change(func(e *entry) bool { return e.resizeLocked(max(bytes, e.bytes)) }); err != nil {
		c.Release()
		return c, err
	}
	return c, nil
}

// join returns another charge for what is kept under a key.
func (l *Ledger) join(key sharedKey) *Charge {
	l.mu.Lock()
	defer l.mu.Unlock()
	joined := l.shared[key]
	if joined == nil {
		joined = &entry{account: key.account, key: &key}
		l.shared[key] = joined
	}
	joined.holders++
	return &Charge{ledger: l, entry: joined}
}

// Charge is memory that is kept for an account until Release.
type Charge struct {
	ledger *Ledger // set once, as entry; nil for a free account
	entry  *entry

	released bool // guarded by the ledger's lock
}

// entry is memory that is counted once, for one charge or for several that share it. It is guarded by
// the ledger's lock.
type entry struct {
	account Account
	key     *sharedKey // nil if it is not shared
	bytes   int
	holders int // charges that have not been released
}

// Resize changes the number of bytes that are kept, before they are. It fails with [ErrFull], and
// changes nothing, if more bytes do not fit.
func (c *Charge) Resize(bytes int) error {
	return c.change(func(e *entry) bool { return e.resizeLocked(bytes) })
}

// Add changes the number of bytes that are kept by a difference, like Resize.
func (c *Charge) Add(bytes int) error {
	return c.change(func(e *entry) bool { return e.resizeLocked(e.bytes + bytes) })
}

// Move charges another account of the same ledger from now on, or fails with [ErrFull]. It does not
// release what is kept without need, so it can be called under a lock. A shared charge cannot move.
func (c *Charge) Move(to Account) error {
	if c.try(func(e *entry) bool { return e.moveLocked(to, e.bytes) }) {
		return nil
	}
	return ErrFull
}

// MoveResized charges another account for another number of bytes from now on, like Move. If they do not
// fit, it fails with [ErrFull] and changes nothing.
func (c *Charge) MoveResized(to Account, bytes int) error {
	if c.try(func(e *entry) bool { return e.moveLocked(to, bytes) }) {
		return nil
	}
	return ErrFull
}

// Release ends the charge.
func (c *Charge) Release() {
	c.try(func(e *entry) bool {
		c.released = true
		return e.releaseLocked()
	})
}

// change tries a change, and once more after what is kept without need was released.
func (c *Charge) change(change func(*entry) bool) error {
	if c.try(change) {
		return nil
	}
	for _, release := range c.ledger.shortage {
		release()
	}
	if c.try(change) {
		return nil
	}
	return ErrFull
}

// try reports whether a change has succeeded, which a free or released charge does not make.
func (c *Charge) try(change func(*entry) bool) bool {
	if c.ledger == nil {
		return true
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	return c.released || change(c.entry)
}

func (e *entry) resizeLocked(bytes int) bool {
	l, more := e.account.ledger, bytes-e.bytes
	if more > 0 && !l.fitsLocked(e.account, more) {
		return false
	}
	l.addLocked(e.account, more)
	e.bytes = bytes
	return true
}

// moveLocked reports whether a number of bytes fits into another account, which is then charged for it.
func (e *entry) moveLocked(to Account, bytes int) bool {
	l := e.account.ledger
	l.addLocked(e.account, -e.bytes)
	fits := bytes == 0 || l.fitsLocked(to, bytes)
	if fits {
		e.account, e.bytes = to, bytes
	}
	l.addLocked(e.account, e.bytes)
	return fits
}

func (e *entry) releaseLocked() bool {
	if e.holders--; e.holders > 0 {
		return true
	}
	if e.key != nil {
		delete(e.account.ledger.shared, *e.key)
	}
	return e.resizeLocked(0)
}

// Hold charges the account of a context for bytes that are kept until the context is done, or fails with
// [ErrFull].
func Hold(ctx context.Context, bytes int) error {
	charge, err := From(ctx).Charge(bytes)
	return charge.holdUntilDone(ctx, err)
}

// HoldShared charges the account of a context like Hold, once for what several of its calls keep under a
// comparable key: see [Account.Share].
func HoldShared(ctx context.Context, key any, bytes int) error {
	charge, err := From(ctx).Share(key, bytes)
	return charge.holdUntilDone(ctx, err)
}

// holdUntilDone releases a charge when a context is done, unless the charge has failed with an error, which
// it returns.
func (c *Charge) holdUntilDone(ctx context.Context, err error) error {
	if err == nil && c.ledger != nil {
		context.AfterFunc(ctx, c.Release)
	}
	return err
}

type accountKey struct{}

// With returns a context in which [From] returns an account.
func With(ctx context.Context, account Account) context.Context {
	return context.WithValue(ctx, accountKey{}, account)
}

// From returns the account of a context; the zero Account, which is free, if there is none.
func From(ctx context.Context) Account {
	account, _ := ctx.Value(accountKey{}).(Account)
	return account
}
