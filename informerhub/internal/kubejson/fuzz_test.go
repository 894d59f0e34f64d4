package kubejson

import (
	"encoding/json"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson/samples"
)

// FuzzAppend compares Append with the Go types, for any bytes of any kind.
func FuzzAppend(f *testing.F) {
	all := samples.Kinds()
	for i, kind := range all {
		f.Add(uint16(i), samples.Random(f, samples.NewFiller(int64(i), 0.7), kind))
	}
	for _, message := range oddMessages {
		f.Add(uint16(0), []byte(message))
	}
	f.Fuzz(func(t *testing.T, number uint16, message []byte) {
		check(t, all[int(number)%len(all)], message)
	})
}

// oddMessages are messages that no API server writes.
var oddMessages = []string{
	"\x0a", "\x0a\x05", "\x08\x80", "\x00\x00", "\x0b\x0c", "\x0b\x08\x01\x0c", "\x0f",
	"\x0a\x02\x0a\x00\x0a\x02\x12\x00", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
	"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xfa\x7f\x00", "\xf9\x7f12345678\xfd\x7f1234",
	"\x0a\x04\x5a\x02\x0a\x00", "\x0a\x08\x5a\x06\x12\x01v\x0a\x01k", "\x0a\x06\x42\x04\x08\x01\x08\x02",
}

func FuzzString(f *testing.F) {
	for _, text := range []string{"", "plain", "01234567", "0123456789<", `"\&<>`, "\u2027\u2028\u2029\u202a", "\xe2\x80", "\x00\x1f \x7f\x80\xff", "é🙂"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendString(nil, []byte(text)); string(got) != string(want) {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"0", "1", "1000", "1024Ki", "250m", "8Ei", "9007199254740993Ki", "999999999999999T", "0.5", "1e3", "-1", "+1", "007", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 0x80 {
			checkCanonical(t, text)
		}
	})
}
