package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// taken returns the bytes that an account gets if it takes all it can, one at a time.
func taken(a Account) (bytes int) {
	for {
		if _, err := a.Charge(1); err != nil {
			return bytes
		}
		bytes++
	}
}

func TestLedger_CallersLeaveSomeForOthers(t *testing.T) {
	l := New(Limits{Total: 1000})
	for i, want := range []int{500, 250, 125, 62} {
		caller, got := fmt.Sprint("caller-", i), 0
		for credential := range 20 {
			got += taken(l.Account(caller, fmt.Sprint(credential)))
		}
		if got != want {
			t.Errorf("%s gets %d, want %d", caller, got, want)
		}
	}
}

func TestLedger_CredentialsLeaveSomeForOthersOfTheirCaller(t *testing.T) {
	l := New(Limits{Total: 1000})
	for credential, want := range []int{200, 200, 100, 0} {
		if got := taken(l.Account("jane", fmt.Sprint(credential))); got != want {
			t.Errorf("credential %d gets %d, want %d", credential, got, want)
		}
	}
}

func TestLedger_UndividedHasOnlyATotal(t *testing.T) {
	if got := taken(New(Limits{Total: 1000, Undivided: true}).Account("jane", "")); got != 1000 {
		t.Errorf("the only caller gets %d of 1000", got)
	}
}

func TestLedger_ReleasesWhatIsKeptWithoutNeedBeforeItRefuses(t *testing.T) {
	l := New(Limits{Total: 100})
	account := l.Account("jane", "")
	idle, err := account.Charge(20)
	if err != nil {
		t.Fatal(err)
	}
	shortages := 0
	l.OnShortage(func() { shortages++; idle.Release() })
	if _, err := account.Charge(20); err != nil || shortages != 1 {
		t.Errorf("after %d shortages: %v", shortages, err)
	}
	if _, err := account.Charge(20); !errors.Is(err, ErrFull) || shortages != 2 {
		t.Errorf("after %d shortages: %v, want %v", shortages, err, ErrFull)
	}
}

func TestAccount_WithoutALedgerIsFree(t *testing.T) {
	account := From(context.Background())
	for _, charge := range []func(int) (*Charge, error){account.Charge, func(bytes int) (*Charge, error) { return account.Share("key", bytes) }} {
		c, err := charge(1 << 40)
		if err == nil {
			err = errors.Join(c.Resize(1<<50), c.Move(account))
		}
		c.Release()
		if err != nil {
			t.Error(err)
		}
	}
	l := New(Limits{Total: 1})
	if got := From(With(context.Background(), l.Account("jane", "a"))); got != l.Account("jane", "a") {
		t.Errorf("the context has %v", got)
	}
}

func TestHold_EndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{Total: 100})
		ctx, cancel := context.WithCancel(With(context.Background(), l.Account("jane", "a")))
		if err := Hold(ctx, 20); err != nil {
			t.Fatal(err)
		}
		if err := Hold(ctx, 1); !errors.Is(err, ErrFull) {
			t.Errorf("above the limit: %v, want %v", err, ErrFull)
		}
		cancel()
		synctest.Wait()
		if use := l.Use(); use.Held != 0 {
			t.Errorf("after the end of the context, %d bytes are held", use.Held)
		}
	})
}

// modelCharge is a charge, and what the model knows of it.
type modelCharge struct {
	*Charge
	account Account
	key     any // nil if it is not shared
	bytes   int
}

// model is a ledger, and all charges that have not been released.
type model struct {
	*Ledger
	charges []*modelCharge
}

// held returns what accounts hold by the definition: the bytes of equal keys once.
func (m *model) held() (total int, byCaller map[string]int, byAccount map[Account]int) {
	byCaller, byAccount = map[string]int{}, map[Account]int{}
	counted := map[sharedKey]bool{}
	for _, c := range m.charges {
		if c.key != nil && counted[sharedKey{c.account, c.key}] {
			continue
		}
		counted[sharedKey{c.account, c.key}] = true
		if c.bytes > 0 {
			total += c.bytes
			byCaller[c.account.caller] += c.bytes
			byAccount[c.account] += c.bytes
		}
	}
	return total, byCaller, byAccount
}

// setBytes changes a charge, and all that share it.
func (m *model) setBytes(c *modelCharge, bytes int) {
	c.bytes = bytes
	for _, other := range m.charges {
		if c.key != nil && other.key == c.key && other.account == c.account {
			other.bytes = bytes
		}
	}
}

// TestLedger_IsBoundedAndExact charges accounts at random.
func TestLedger_IsBoundedAndExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{Ledger: New(Limits{Total: 1000})}
		account := func() Account {
			caller := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "caller")
			return m.Account(caller, caller+rapid.SampledFrom([]string{"", "-1", "-2"}).Draw(t, "credential"))
		}
		bytes := rapid.IntRange(0, 300)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.step(t, account, bytes)
			m.check(t)
		}
		for _, c := range m.charges {
			c.Release()
			c.Release()
		}
		if use := m.Use(); use.Held != 0 || len(m.byCaller)+len(m.byAccount)+len(m.shared) > 0 {
			t.Fatalf("after all were released: %v, %v, %v, %v", use, m.byCaller, m.byAccount, m.shared)
		}
	})
}

// step makes one random change.
func (m *model) step(t *rapid.T, account func() Account, bytes *rapid.Generator[int]) {
	before := len(m.charges)
	c := &modelCharge{account: account(), bytes: bytes.Draw(t, "bytes")}
	var err error
	switch action := rapid.SampledFrom([]string{"charge", "share", "resize", "move", "release"}).Draw(t, "action"); {
	case action == "charge":
		if c.Charge, err = c.account.Charge(c.bytes); err == nil {
			m.charges = append(m.charges, c)
		}
	case action == "share":
		c.key = rapid.SampledFrom([]any{1, "1", "2"}).Draw(t, "key")
		for _, other := range m.charges {
			if other.key == c.key && other.account == c.account {
				c.bytes = max(c.bytes, other.bytes)
			}
		}
		if c.Charge, err = c.account.Share(c.key, c.bytes); err == nil {
			m.charges = append(m.charges, c)
			m.setBytes(c, c.bytes)
		}
	case before == 0:
	default:
		at := rapid.IntRange(0, before-1).Draw(t, "charge")
		err = m.changeOne(t, action, at, c)
	}
	if err != nil && !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
}

// changeOne changes the charge at an index to the account or the bytes of c.
func (m *model) changeOne(t *rapid.T, action string, at int, c *modelCharge) (err error) {
	changed := m.charges[at]
	switch action {
	case "resize":
		if err = changed.Resize(c.bytes); err == nil {
			m.setBytes(changed, c.bytes)
		}
	case "move":
		if changed.key != nil {
			return nil
		}
		if err = changed.Move(c.account); err == nil {
			changed.account = c.account
		}
	case "release":
		changed.Release()
		m.charges = slices.Delete(m.charges, at, at+1)
	}
	return err
}

func (m *model) check(t *rapid.T) {
	total, byCaller, byAccount := m.held()
	if use := m.Use(); int(use.Held) != total || total > m.limits.Total {
		t.Fatalf("%d of %d bytes are held, and the charges have %d", use.Held, use.Capacity, total)
	}
	if !maps.Equal(m.Kept(), byCaller) || !maps.Equal(m.byAccount, byAccount) {
		t.Fatalf("callers hold %v and accounts %v, want %v and %v", m.Kept(), m.byAccount, byCaller, byAccount)
	}
	for caller, bytes := range byCaller {
		if bytes > m.limits.Total/2 {
			t.Fatalf("%s holds %d of %d", caller, bytes, m.limits.Total)
		}
	}
	for account, bytes := range byAccount {
		if bytes > m.limits.Total/5 {
			t.Fatalf("%v holds %d of %d", account, bytes, m.limits.Total)
		}
	}
}
