package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"
	"unicode"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

var (
	idType       = reflect.TypeFor[engram.ID]()
	timeType     = reflect.TypeFor[engram.Time]()
	stdTimeType  = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	enumType     = reflect.TypeFor[idf.Enum]()
)

// member is how a field of a struct stands in IDF: `idf:"name,optional,type=Pose"`.
type member struct {
	index    int
	name     string
	optional bool   // a zero is left unset
	typ      string // the IDF type, where the Go type does not tell
}

// members are those of structs that were converted before.
var members sync.Map // of reflect.Type: []member

func membersOf(t reflect.Type) []member {
	if known, ok := members.Load(t); ok {
		return known.([]member)
	}
	var all []member
	for i := range t.NumField() {
		if m, ok := memberOf(t.Field(i)); ok {
			m.index = i
			all = append(all, m)
		}
	}
	members.Store(t, all)
	return all
}

func memberOf(f reflect.StructField) (m member, ok bool) {
	tag := strings.Split(f.Tag.Get("idf"), ",")
	if !f.IsExported() || tag[0] == "-" {
		return m, false
	}
	m.name = tag[0]
	if m.name == "" {
		m.name = snake(f.Name)
	}
	for _, t := range tag[1:] {
		switch typ, isType := strings.CutPrefix(t, "type="); {
		case isType:
			m.typ = typ
		case t == "optional":
			m.optional = true
		}
	}
	return m, true
}

// snake writes a Go name as members are written: SkillProvider is skill_provider, ID is id.
func snake(name string) string {
	var b strings.Builder
	r := []rune(name)
	for i, c := range r {
		if unicode.IsUpper(c) && i > 0 && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// plain returns a Go value as the plain values of IDF: structs as maps.
func plain(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	switch v.Type() {
	case idType:
		if id := v.Interface().(engram.ID); !id.IsRoot() {
			return id
		}
		return ""
	case timeType, stdTimeType, durationType, enumType:
		return v.Interface()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if a, ok := v.Interface().(*idf.NDArray); ok {
			return a
		}
		return plain(v.Elem())
	case reflect.Struct:
		m := make(map[string]any, v.NumField())
		for _, f := range membersOf(v.Type()) {
			if f.optional && v.Field(f.index).IsZero() {
				continue
			}
			if p := plain(v.Field(f.index)); p != nil {
				m[f.name] = p
			}
		}
		return m
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface()
		}
		l := make([]any, v.Len())
		for i := range l {
			l[i] = plain(v.Index(i))
		}
		return l
	case reflect.Map:
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			m[fmt.Sprint(it.Key().Interface())] = plain(it.Value())
		}
		return m
	case reflect.Int32, reflect.Int16, reflect.Int8:
		return int32(v.Int())
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Float64:
		return v.Float()
	}
	return v.Interface()
}

// fill puts a plain value of IDF into a Go value. What is not given stays as it is. The error
// is TypeMismatch or OutOfRange and names the member.
func fill(v reflect.Value, from any, path string) error {
	if from == nil {
		return nil
	}
	mismatch := func() error {
		return engram.Errorf(engram.TypeMismatch, path, "expected %s, got %v", v.Type(), from)
	}
	if e, ok := from.(idf.Enum); ok && v.Kind() != reflect.Interface && v.Type() != enumType {
		if v.Kind() == reflect.String {
			from = e.Key
		} else {
			from = e.Number
		}
	}
	if v.Kind() == reflect.Pointer {
		if a, ok := from.(*idf.NDArray); ok && v.Type() == reflect.TypeOf(a) {
			v.Set(reflect.ValueOf(a))
			return nil
		}
		n := reflect.New(v.Type().Elem())
		if err := fill(n.Elem(), from, path); err != nil {
			return err
		}
		v.Set(n)
		return nil
	}
	f := reflect.ValueOf(from)
	switch v.Type() {
	case idType:
		switch id := from.(type) {
		case engram.ID:
			v.Set(f)
		case string:
			if id == "" {
				return nil
			}
			parsed, err := engram.Parse(id)
			if err != nil {
				return engram.Errorf(engram.TypeMismatch, path, "%q is no ID: %w", id, err)
			}
			v.Set(reflect.ValueOf(parsed))
		default:
			return mismatch()
		}
		return nil
	case stdTimeType:
		t, ok := from.(engram.Time)
		if !ok {
			return mismatch()
		}
		v.Set(reflect.ValueOf(t.Std()))
		return nil
	case durationType:
		switch d := from.(type) {
		case time.Duration:
			v.SetInt(int64(d))
			return nil
		case string:
			p, err := time.ParseDuration(d)
			if err != nil {
				return mismatch()
			}
			v.SetInt(int64(p))
			return nil
		}
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.NumMethod() > 0 {
			return mismatch()
		}
		v.Set(f)
	case reflect.Struct:
		m, ok := from.(map[string]any)
		if !ok {
			return mismatch()
		}
		for _, f := range membersOf(v.Type()) {
			given, ok := m[f.name]
			if !ok {
				continue
			}
			if err := fill(v.Field(f.index), given, join(path, f.name)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if f.Type() == v.Type() {
			v.Set(f)
			return nil
		}
		if f.Kind() != reflect.Slice {
			return mismatch()
		}
		s := reflect.MakeSlice(v.Type(), f.Len(), f.Len())
		for i := range f.Len() {
			if err := fill(s.Index(i), f.Index(i).Interface(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		v.Set(s)
	case reflect.Map:
		if f.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String || f.Type().Key().Kind() != reflect.String {
			return mismatch()
		}
		m := reflect.MakeMapWithSize(v.Type(), f.Len())
		for it := f.MapRange(); it.Next(); {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := fill(e, it.Value().Interface(), join(path, it.Key().String())); err != nil {
				return err
			}
			m.SetMapIndex(it.Key().Convert(v.Type().Key()), e)
		}
		v.Set(m)
	case reflect.Bool, reflect.String:
		if f.Kind() != v.Kind() {
			return mismatch()
		}
		v.Set(f.Convert(v.Type()))
	default:
		return fillNumber(v, f, mismatch, path)
	}
	return nil
}

func fillNumber(v, f reflect.Value, mismatch func() error, path string) error {
	var n float64
	switch {
	case f.CanInt():
		n = float64(f.Int())
	case f.CanUint():
		n = float64(f.Uint())
	case f.CanFloat():
		n = f.Float()
	default:
		return mismatch()
	}
	outside := engram.Errorf(engram.OutOfRange, path, "%v does not fit %s", f.Interface(), v.Type())
	switch {
	case v.CanFloat():
		v.SetFloat(n)
	case v.CanInt() && f.CanInt():
		if v.OverflowInt(f.Int()) {
			return outside
		}
		v.SetInt(f.Int())
	case v.CanInt():
		if n != float64(int64(n)) || v.OverflowInt(int64(n)) {
			return outside
		}
		v.SetInt(int64(n))
	case v.CanUint():
		if n < 0 || n != float64(uint64(n)) || v.OverflowUint(uint64(n)) {
			return outside
		}
		v.SetUint(uint64(n))
	default:
		return mismatch()
	}
	return nil
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// derive returns the IDF type of a Go struct, by a name such as skill.Arm.GraspParameters. The
// error is Invalid if a field has no type in IDF.
func derive(t reflect.Type, name string) (engram.TypeDef, error) {
	x := xmlWriter{objects: map[reflect.Type]string{}}
	if err := x.object(t, strings.ReplaceAll(name, ".", "::")); err != nil {
		return engram.TypeDef{}, err
	}
	text := "<AronTypeDefinition><GenerateTypes>\n" + x.b.String() + "</GenerateTypes></AronTypeDefinition>\n"
	defs, err := idf.CompileXML(idf.Source{fstest.MapFS{"type.xml": {Data: []byte(text)}}}, "type.xml")
	if err != nil {
		return engram.TypeDef{}, err
	}
	for _, def := range defs {
		if def.Name == name {
			return def, nil
		}
	}
	return engram.TypeDef{}, engram.Errorf(engram.Internal, name, "the type was not made")
}

// membersType returns a struct whose members in IDF are those of [Spec].Takes.
func membersType(takes map[string]string) (reflect.Type, error) {
	var fields []reflect.StructField
	for i, name := range slices.Sorted(maps.Keys(takes)) {
		if identifier(name) != name {
			return nil, engram.Errorf(engram.Invalid, name, "this is no name of a parameter; it has letters, digits and _")
		}
		typ, optional := strings.CutSuffix(takes[name], "?")
		if typ == "" || strings.ContainsAny(typ, " ,'\"&/") {
			return nil, engram.Errorf(engram.Invalid, name, "%q is no type; there are String, Bool, Int, Long, Float, Double, Pose, Position, Time, Duration, List<…>, Dict<…> and others", typ)
		}
		tag := name + ",type=" + typ
		if optional {
			tag += ",optional"
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[any](), Tag: reflect.StructTag(`idf:"` + tag + `"`)})
	}
	return reflect.StructOf(fields), nil
}

// typeXML writes the name of a type, such as List<String>, as XML.
func typeXML(typ string) string {
	for _, many := range []string{"List", "Dict"} {
		if of, ok := strings.CutPrefix(typ, many+"<"); ok && strings.HasSuffix(of, ">") {
			return "<" + many + ">" + typeXML(strings.TrimSuffix(of, ">")) + "</" + many + ">"
		}
	}
	return "<" + strings.ReplaceAll(typ, ".", "::") + " />"
}

// digest tells definitions apart.
func digest(def engram.TypeDef) string {
	sum := sha256.Sum256(def.Descriptors)
	return hex.EncodeToString(sum[:4])
}

// xmlWriter writes Go structs as ArmarX XML.
type xmlWriter struct {
	b       strings.Builder
	objects map[reflect.Type]string
}

func (x *xmlWriter) object(t reflect.Type, name string) error {
	x.objects[t] = name
	var b strings.Builder
	fmt.Fprintf(&b, "<Object name='%s'>\n", name)
	for _, m := range membersOf(t) {
		f := t.Field(m.index)
		of, optional := f.Type, m.optional
		if of.Kind() == reflect.Pointer {
			of, optional = of.Elem(), true
		}
		text := typeXML(m.typ)
		if m.typ == "" {
			var err error
			if text, err = x.of(of, name+f.Name); err != nil {
				return engram.Errorf(engram.Invalid, t.String()+"."+f.Name, "%w", err)
			}
		}
		if k := of.Kind(); optional && !strings.HasPrefix(text, "<List>") && !strings.HasPrefix(text, "<Dict>") && k != reflect.Slice && k != reflect.Map {
			text = strings.Replace(text, " />", " optional='true' />", 1)
		}
		fmt.Fprintf(&b, "<ObjectChild key='%s'>%s</ObjectChild>\n", m.name, text)
	}
	b.WriteString("</Object>\n")
	x.b.WriteString(b.String()) // after what it is made of
	return nil
}

// of returns the XML of a type; name is that of an object if one has to be made.
func (x *xmlWriter) of(t reflect.Type, name string) (string, error) {
	switch t {
	case idType:
		return "<engram::Link />", nil
	case timeType, stdTimeType:
		return "<Time />", nil
	case durationType:
		return "<Duration />", nil
	}
	inside := func(what string) (string, error) {
		e, err := x.of(t.Elem(), name)
		return fmt.Sprintf("<%s>%s</%s>", what, e, what), err
	}
	switch t.Kind() {
	case reflect.Bool:
		return "<Bool />", nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Uint16:
		return "<Int />", nil
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "<Long />", nil
	case reflect.Float32:
		return "<Float />", nil
	case reflect.Float64:
		return "<Double />", nil
	case reflect.String:
		return "<String />", nil
	case reflect.Interface:
		return "<AnyObject />", nil
	case reflect.Slice, reflect.Array:
		return inside("List")
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return "", fmt.Errorf("keys of a map must be strings")
		}
		return inside("Dict")
	case reflect.Struct:
		known := x.objects[t]
		if known == "" {
			known = name
			if err := x.object(t, name); err != nil {
				return "", err
			}
		}
		return "<" + known + " />", nil
	}
	return "", fmt.Errorf("a %s has no type in IDF", t)
}
