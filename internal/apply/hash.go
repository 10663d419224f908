package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
)

// hashBytes is how much of the SHA-256 a content hash keeps: 128 bits, nobody gains by a collision.
const hashBytes = 16

// ContentHash is a hash of the content of an object: the same for the same content, whatever the order of keys and the Go type of numbers, in every
// process and release (it is kept in the status of instances). It is 32 hex digits. nil and empty maps count as the same, as do nil and empty lists.
func ContentHash(obj map[string]any) string {
	encoder := encoders.Get().(*encoder)
	defer encoders.Put(encoder)
	encoder.text = encoder.text[:0]
	encoder.object(obj)
	sum := sha256.Sum256(encoder.text)
	return hex.EncodeToString(sum[:hashBytes])
}

var encoders = sync.Pool{New: func() any { return &encoder{} }}

// encoder writes values in a canonical form that is unambiguous and cheap, not JSON: a letter for the type, strings with their length before them,
// maps and lists with their size.
type encoder struct {
	text []byte
	// keys is one stack for the sorted keys of all maps that are open.
	keys []string
}

func (e *encoder) value(value any) {
	switch value := value.(type) {
	case nil:
		e.text = append(e.text, 'n')
	case string:
		e.text = append(e.text, 's')
		e.sized(value)
	case bool:
		if value {
			e.text = append(e.text, 't')
			return
		}
		e.text = append(e.text, 'f')
	case map[string]any:
		e.object(value)
	case []any:
		e.size('l', len(value))
		for _, element := range value {
			e.value(element)
		}
	default:
		e.number(value)
	}
}

func (e *encoder) object(object map[string]any) {
	e.size('m', len(object))
	start := len(e.keys)
	for key := range object {
		e.keys = append(e.keys, key)
	}
	end := len(e.keys)
	slices.Sort(e.keys[start:end])
	for i := start; i < end; i++ {
		// Nested maps may move the stack, so it is indexed anew each time.
		key := e.keys[i]
		e.sized(key)
		e.value(object[key])
	}
	clear(e.keys[start:end])
	e.keys = e.keys[:start]
}

func (e *encoder) number(value any) {
	number, ok := numberOf(value)
	if !ok {
		// Not a JSON value. It cannot come from a template or a server; it still gets a hash of its own.
		e.text = append(e.text, '?')
		e.sized(fmt.Sprintf("%T %v", value, value))
		return
	}
	if number.whole {
		e.text = append(e.text, 'i')
		e.text = strconv.AppendInt(e.text, number.integer, 10)
	} else {
		e.text = append(e.text, 'd')
		e.text = strconv.AppendFloat(e.text, number.float, 'g', -1, 64)
	}
	e.text = append(e.text, ';')
}

// sized writes a string in a way that nothing after it can be mistaken for a part of it.
func (e *encoder) sized(s string) {
	e.text = strconv.AppendInt(e.text, int64(len(s)), 10)
	e.text = append(e.text, ':')
	e.text = append(e.text, s...)
}

func (e *encoder) size(letter byte, n int) {
	e.text = append(e.text, letter)
	e.text = strconv.AppendInt(e.text, int64(n), 10)
	e.text = append(e.text, ':')
}

// number is a JSON number in the one form in which equal values are equal: as an integer when it is one that fits.
type number struct {
	whole   bool
	integer int64
	float   float64
}

// numberOf reads any Go type in which a JSON number may come.
func numberOf(value any) (number, bool) {
	switch value := value.(type) {
	case int64:
		return number{whole: true, integer: value}, true
	case float64:
		return numberOfFloat(value), true
	case int:
		return number{whole: true, integer: int64(value)}, true
	case int32:
		return number{whole: true, integer: int64(value)}, true
	case float32:
		return numberOfFloat(float64(value)), true
	case uint64:
		if value <= math.MaxInt64 {
			return number{whole: true, integer: int64(value)}, true
		}
		return numberOfFloat(float64(value)), true
	case json.Number:
		if integer, err := value.Int64(); err == nil {
			return number{whole: true, integer: integer}, true
		}
		float, err := value.Float64()
		return numberOfFloat(float), err == nil
	}
	return number{}, false
}

func numberOfFloat(f float64) number {
	// The bound is exclusive above: 2^63 is a float64 but no int64.
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return number{whole: true, integer: int64(f)}
	}
	return number{float: f}
}
