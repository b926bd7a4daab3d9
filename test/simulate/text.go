package simulate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Text writes a history out whole, so that two runs of a plan can be compared byte by byte.
func (h *History) Text() string {
	w := writer{}
	w.value(reflect.ValueOf(*h), 0)
	return w.String()
}

type writer struct{ strings.Builder }

// value writes a part of a history. A handling's invocation and process are written as their number.
func (w *writer) value(v reflect.Value, depth int) {
	switch of := v.Interface().(type) {
	case time.Time:
		fmt.Fprint(w, of.UnixNano())
		return
	case error:
		fmt.Fprintf(w, "%T %q", of, text(of))
		return
	case []byte:
		fmt.Fprintf(w, "%q", of)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			w.WriteString("nil")
			return
		}
		w.value(v.Elem(), depth)
	case reflect.Struct:
		w.WriteString("{")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || v.Field(i).IsZero() || f.Type.Kind() == reflect.Func {
				continue
			}
			fmt.Fprintf(w, " %s=", f.Name)
			switch of := v.Field(i).Interface().(type) {
			case *Invocation:
				fmt.Fprint(w, of.Number)
			case *Process:
				fmt.Fprint(w, of.Number)
			default:
				w.value(v.Field(i), depth+1)
			}
		}
		w.WriteString("}")
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fmt.Fprintf(w, "\n%*d ", depth*2, i)
			w.value(v.Index(i), depth+1)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			fmt.Fprintf(w, " %q: ", k)
			w.value(v.MapIndex(k), depth+1)
		}
	case reflect.String:
		fmt.Fprintf(w, "%q", v)
	default:
		fmt.Fprint(w, v)
	}
}

// text is an error's text, whose method may panic.
func text(err error) (s string) {
	defer func() {
		if v := recover(); v != nil {
			s = fmt.Sprint("panics: ", v)
		}
	}()
	return err.Error()
}
