package web_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

const (
	camera = "Vision/Any/p/camera"
)

// cameras is a server with a memory of images, of any type.
func cameras(t testing.TB) *server.Server {
	s := serving.NewOf(t, server.Config{Log: testkit.Quiet, Memories: []server.Memory{{Name: "Vision", Segments: []engram.CoreSegment{
		{ID: engram.MustID("Vision/Any"), MaxAhead: engram.AnyAhead},
	}}}})
	return s
}

func raw(encoding string, width, height, step int, data ...byte) *foxglovepb.RawImage {
	return &foxglovepb.RawImage{Encoding: encoding, Width: uint32(width), Height: uint32(height), Step: uint32(step), Data: data, FrameId: "lens"}
}

// show asks for an image and decodes it.
func (p *viewer) show(query ...string) (img image.Image, format string, res *http.Response) {
	p.Helper()
	res = p.piece("image", query...)
	img, format, err := image.Decode(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "image/"+format {
		p.Fatal(res.Status, format, err)
	}
	return img, format, res
}

// aboutOf is what an answer says of its image.
func aboutOf(t *testing.T, res *http.Response) (a struct {
	ID, Path, Format, Frame string
	Images, Width, Height   int
	Near, Far               float64
}) {
	t.Helper()
	text, err := url.PathUnescape(res.Header.Get("Engram-Image"))
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// near reports whether a pixel has a colour, as far as JPEG keeps one.
func near(c color.Color, r, g, b uint8) bool {
	got := color.RGBAModel.Convert(c).(color.RGBA)
	far := func(a, b uint8) bool { return max(a, b)-min(a, b) > 6 }
	return !far(got.R, r) && !far(got.G, g) && !far(got.B, b) && got.A == 255
}

// halves returns an image whose pixels are of two colours by turns, which one smaller has the mean of.
func halves(width, height int, a, b []byte) (data []byte) {
	for i := range width * height {
		if (i%width)%2 == 0 {
			data = append(data, a...)
		} else {
			data = append(data, b...)
		}
	}
	return data
}

func TestRawImages(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	for i, c := range []struct {
		encoding string
		a, b     []byte // of which 24 x 16 pixels are, by turns
		want     [3]uint8
	}{
		{"rgb8", []byte{100, 0, 0}, []byte{200, 50, 0}, [3]uint8{150, 25, 0}},
		{"bgr8", []byte{100, 0, 0}, []byte{200, 50, 0}, [3]uint8{0, 25, 150}},
		{"8UC3", []byte{100, 0, 0}, []byte{200, 50, 0}, [3]uint8{0, 25, 150}},
		{"rgba8", []byte{100, 0, 0, 255}, []byte{200, 50, 0, 255}, [3]uint8{150, 25, 0}},
		{"bgra8", []byte{100, 0, 0, 255}, []byte{200, 50, 0, 255}, [3]uint8{0, 25, 150}},
		{"mono8", []byte{20}, []byte{60}, [3]uint8{40, 40, 40}},
		{"8UC1", []byte{20}, []byte{60}, [3]uint8{40, 40, 40}},
		{"uyvy", []byte{128, 20}, []byte{128, 60}, [3]uint8{40, 40, 40}},
		{"yuyv", []byte{20, 128}, []byte{60, 128}, [3]uint8{40, 40, 40}},
	} {
		testkit.Commit(t, svc, message(t, camera, start+engram.Time(i), raw(c.encoding, 24, 16, 24*len(c.a), halves(24, 16, c.a, c.b)...)))
		img, format, res := p.show("id", camera, "w", "12", "h", "12")
		if format != "jpeg" || img.Bounds() != image.Rect(0, 0, 12, 8) || !near(img.At(5, 5), c.want[0], c.want[1], c.want[2]) {
			t.Errorf("%s is a %s of %v, with %v", c.encoding, format, img.Bounds(), img.At(5, 5))
		}
		if a := aboutOf(t, res); a.Width != 24 || a.Height != 16 || a.Format != c.encoding || a.Frame != "lens" || a.Images != 1 {
			t.Errorf("%s: told %+v", c.encoding, a)
		}
	}
}

// A colour that stands in half the rows has its share when the image is made smaller by no whole number.
func TestImageIsMeanOfWhatItCovers(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	data := make([]byte, 100*7)
	for i := range data {
		data[i] = byte(255 * (i / 350)) // the lower half, and half of row 3
	}
	testkit.Commit(t, svc, message(t, camera, start, raw("mono8", 100, 7, 100, data...)))
	img, _, _ := p.show("id", camera, "w", "50", "h", "2")
	if got := img.Bounds(); got != image.Rect(0, 0, 29, 2) {
		t.Fatal(got)
	}
	var upper, all int
	for x := range 29 {
		upper += int(color.GrayModel.Convert(img.At(x, 0)).(color.Gray).Y)
		all += int(color.GrayModel.Convert(img.At(x, 0)).(color.Gray).Y) + int(color.GrayModel.Convert(img.At(x, 1)).(color.Gray).Y)
	}
	if mean := float64(all) / 58; math.Abs(mean-127.5) > 3 {
		t.Errorf("the mean is %v", mean)
	}
	if mean := float64(upper) / 29; math.Abs(mean-255.0/14) > 12 { // row 3 is in the upper half by half, and its right half is white
		t.Errorf("the upper half is %v", mean)
	}
}

func TestBayerImages(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	for i, c := range []struct {
		encoding string
		block    [4]byte
	}{
		{"bayer_rggb8", [4]byte{200, 100, 100, 30}}, {"bayer_bggr8", [4]byte{30, 100, 100, 200}},
		{"bayer_grbg8", [4]byte{100, 200, 30, 100}}, {"bayer_gbrg8", [4]byte{100, 30, 200, 100}},
	} {
		var data []byte
		for y := range 9 { // odd, so that the last row's block begins one before
			for x := range 17 {
				data = append(data, c.block[y%2*2+x%2])
			}
		}
		testkit.Commit(t, svc, message(t, camera, start+engram.Time(i), raw(c.encoding, 17, 9, 17, data...)))
		img, _, _ := p.show("id", camera)
		for _, at := range []image.Point{{0, 0}, {9, 3}, {16, 8}} {
			if !near(img.At(at.X, at.Y), 200, 100, 30) {
				t.Errorf("%s at %v is %v", c.encoding, at, img.At(at.X, at.Y))
			}
		}
	}
}

// Rows may be longer than their pixels: what lies between them is not shown.
func TestImagesWithPadding(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	var data []byte
	for range 3 {
		data = append(data, 10, 90, 200, 255, 255, 255, 255)
	}
	for i, whole := range []bool{true, false} { // the last row may end with its pixels
		if !whole {
			data = data[:len(data)-4]
		}
		testkit.Commit(t, svc, message(t, camera, start+engram.Time(i), raw("mono8", 3, 3, 7, data...)))
		img, _, _ := p.show("id", camera, "full", "1")
		for y := range 3 {
			for x, want := range []uint8{10, 90, 200} {
				if got := img.At(x, y).(color.Gray).Y; got != want {
					t.Errorf("%d, %d is %d, not %d", x, y, got, want)
				}
			}
		}
	}
}

// depths is an image of depth, each row of which has these values.
func depths(encoding string, rows int, row ...float64) *foxglovepb.RawImage {
	var data []byte
	for range rows {
		for _, m := range row {
			if encoding == "32FC1" {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(m)))
			} else {
				data = binary.LittleEndian.AppendUint16(data, uint16(math.Round(m*1000)))
			}
		}
	}
	return raw(encoding, len(row), rows, len(data)/rows, data...)
}

// What was not measured is transparent and takes nothing from what was; greys and colours go from the nearest to the
// farthest, in whole 0.1 m.
func TestDepth(t *testing.T) {
	none := map[string]float64{"mono16": 0, "16UC1": 0, "32FC1": math.NaN()}
	for _, encoding := range []string{"mono16", "16UC1", "32FC1"} {
		t.Run(encoding, func(t *testing.T) {
			svc := cameras(t)
			p := open(t, svc)
			n := none[encoding]
			testkit.Commit(t, svc, message(t, camera, start, depths(encoding, 4, n, 0.512, 0.512, 0.512, n, n, 1.024, 1.024)))
			for _, height := range []string{"4", "2"} {
				img, format, res := p.show("id", camera, "h", height)
				if a := aboutOf(t, res); a.Near != 0.5 || a.Far != 1.1 || a.Width != 8 || a.Format != encoding || format != "png" {
					t.Errorf("told %+v of a %s", a, format)
				}
				at := func(x int) color.NRGBA {
					return color.NRGBAModel.Convert(img.At(x*img.Bounds().Dx()/8, 1)).(color.NRGBA)
				}
				// (512-500)/600 and (1024-500)/600 of 255.
				if near, far, none := at(2), at(6), at(4); near != (color.NRGBA{5, 5, 5, 255}) || far != (color.NRGBA{223, 223, 223, 255}) || none.A != 0 {
					t.Errorf("%s high: near is %v, far %v, none %v", height, near, far, none)
				}
			}
			img, _, _ := p.show("id", camera, "colour", "depth")
			if near, far := img.At(1, 1).(color.NRGBA), img.At(6, 1).(color.NRGBA); near.B <= near.R || far.R <= far.B || near.A != 255 {
				t.Errorf("in colours near is %v, far %v", near, far)
			}
			whole, format, _ := p.show("id", camera, "full", "1")
			if v := whole.At(6, 1).(color.Gray16); format != "png" || v.Y != 1024 {
				t.Error("whole, it has", v, format)
			}
		})
	}
}

// A wrong pixel does not take the colours of all others; an image without any measurement is shown.
func TestDepthWithOddPixels(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	row := make([]float64, 300)
	for i := range row {
		row[i] = 2 + float64(i)/300
	}
	row[17], row[18], row[19] = 60, math.Inf(1), -1
	testkit.Commit(t, svc, message(t, camera, start, depths("32FC1", 3, row...)), message(t, camera, start+1, depths("32FC1", 3, math.NaN(), 0, -1)))
	_, _, res := p.show("id", camera, "t", text(start))
	if a := aboutOf(t, res); a.Near != 2 || a.Far != 3 {
		t.Errorf("told %+v", a)
	}
	img, _, _ := p.show("id", camera)
	if _, _, _, a := img.At(1, 1).RGBA(); a != 0 || img.Bounds() != image.Rect(0, 0, 3, 3) {
		t.Errorf("nothing measured is %v of %v", img.At(1, 1), img.Bounds())
	}
}

// A PNG of depth is shown by colours or greys in its own size, too, and kept as it is where all of it is asked for.
func TestCompressedDepth(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	deep := image.NewGray16(image.Rect(0, 0, 2, 1))
	deep.SetGray16(0, 0, color.Gray16{Y: 500})
	deep.SetGray16(1, 0, color.Gray16{Y: 3999})
	var b bytes.Buffer
	if err := png.Encode(&b, deep); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, svc, message(t, camera, start, &foxglovepb.CompressedImage{Format: "png", Data: b.Bytes()}))
	img, _, res := p.show("id", camera)
	if near, far := color.GrayModel.Convert(img.At(0, 0)).(color.Gray).Y, color.GrayModel.Convert(img.At(1, 0)).(color.Gray).Y; near != 0 || far < 250 {
		t.Error("the greys are", near, far)
	}
	if a := aboutOf(t, res); a.Near != 0.5 || a.Far != 4 {
		t.Errorf("told %+v", a)
	}
	if whole, _, _ := p.show("id", camera, "full", "1"); whole.At(1, 0) != (color.Gray16{Y: 3999}) {
		t.Error("whole, it has", whole.At(1, 0))
	}
}

func TestCompressedImages(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	var jpg, transparent bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 64, 32)), nil); err != nil {
		t.Fatal(err)
	}
	half := image.NewNRGBA(image.Rect(0, 0, 8, 8))
	for i := range half.Pix {
		half.Pix[i] = 100
	}
	if err := png.Encode(&transparent, half); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, svc, message(t, camera, start, &foxglovepb.CompressedImage{Format: "jpeg", Data: jpg.Bytes()}))
	for _, query := range [][]string{{"full", "1"}, {"w", "1000"}} {
		res := p.piece("image", append(query, "id", camera)...)
		var got bytes.Buffer
		if _, err := got.ReadFrom(res.Body); err != nil || !bytes.Equal(got.Bytes(), jpg.Bytes()) || res.Header.Get("Content-Type") != "image/jpeg" {
			t.Error(query, "changed what need not change", err)
		}
	}
	if img, format, _ := p.show("id", camera, "w", "10"); format != "jpeg" || img.Bounds() != image.Rect(0, 0, 10, 5) {
		t.Error(format, img.Bounds())
	}
	testkit.Commit(t, svc, message(t, camera, start+1, &foxglovepb.CompressedImage{Format: "png", Data: transparent.Bytes()}))
	img, format, _ := p.show("id", camera, "w", "4")
	if c := color.NRGBAModel.Convert(img.At(2, 2)).(color.NRGBA); format != "png" || c.A != 100 || c.R < 98 || c.R > 102 {
		t.Error(format, c)
	}
	// What is no image is not given to a browser as it is.
	testkit.Commit(t, svc, message(t, camera, start+2, &foxglovepb.CompressedImage{Format: "svg", Data: []byte(`<svg onload="alert(1)"/>`)}))
	p.refused(http.StatusInternalServerError, "image", "id", camera, "full", "1")
}

func TestImagesOfASnapshot(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	grey := func(v byte) *foxglovepb.RawImage { return raw("mono8", 1, 1, 1, v) }
	testkit.Commit(t, svc, message(t, camera, start, grey(10), grey(90)), message(t, camera, start+10, grey(200)))
	at := func(query ...string) int {
		t.Helper()
		img, _, _ := p.show(query...)
		return int(color.GrayModel.Convert(img.At(0, 0)).(color.Gray).Y)
	}
	first := engram.MustID(camera).At(start)
	for _, c := range []struct {
		query []string
		want  int
	}{
		{[]string{"id", camera}, 200},
		{[]string{"id", camera, "t", text(start + 9)}, 10},
		{[]string{"id", camera, "t", text(start + 9), "i", "1"}, 90},
		{[]string{"id", first.String()}, 10},
		{[]string{"id", first.Instance(1).String()}, 90},
	} {
		if got := at(c.query...); got < c.want-3 || got > c.want+3 {
			t.Error(c.query, "is", got)
		}
	}
	p.refused(http.StatusNotFound, "image", "id", camera, "i", "1")
	p.refused(http.StatusNotFound, "image", "id", camera, "t", text(start-1))
	p.refused(http.StatusNotFound, "image", "id", "Vision/Any/p/nobody")
	p.refused(http.StatusBadRequest, "image", "id", "Vision/Any")
	p.refused(http.StatusBadRequest, "image", "id", camera, "w", "-1")
	p.refused(http.StatusBadRequest, "image", "id", camera, "colour", "red")
}

func TestImagesInATypeOfOnesOwn(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	defs, err := idf.CompileXML(idf.Source{fstest.MapFS{"Look.xml": {Data: []byte(`<AronTypeDefinition><GenerateTypes><Object name='Look'>
		<ObjectChild key='note'><String/></ObjectChild>
		<ObjectChild key='left'><Image pixelType='rgb24'/></ObjectChild>
		<ObjectChild key='right'><Image pixelType='rgb24'/></ObjectChild>
	</Object></GenerateTypes></AronTypeDefinition>`)}}}, "Look.xml")
	if err != nil {
		t.Fatal(err)
	}
	typ, err := idf.ParseType(defs[0])
	if err != nil {
		t.Fatal(err)
	}
	image := func(r int) map[string]any {
		return map[string]any{"width": 1, "height": 1, "step": 3, "encoding": "rgb8", "data": []byte{byte(r), 0, 0}}
	}
	b, err := typ.Encode(map[string]any{"note": "two", "left": image(50), "right": image(150)})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.AddType(t.Context(), defs[0]); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, svc, engram.EntityUpdate{Entity: engram.MustID(camera), Time: start, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}})
	for _, c := range []struct {
		query []string
		path  string
		red   uint8
	}{{nil, "left", 50}, {[]string{"i", "1"}, "right", 150}, {[]string{"path", "right"}, "right", 150}} {
		img, _, res := p.show(append(c.query, "id", camera)...)
		if a := aboutOf(t, res); a.Path != c.path || !near(img.At(0, 0), c.red, 0, 0) {
			t.Errorf("%v: %+v, %v", c.query, a, img.At(0, 0))
		}
	}
	p.refused(http.StatusNotFound, "image", "id", camera, "path", "note")
}

func TestCameras(t *testing.T) {
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	p := open(t, svc)
	testkit.Commit(t, svc, message(t, "Vision/ImageRGB/p/camera", engram.Now(), raw("mono8", 1, 1, 1, 1)), message(t, "Vision/ImageRGB/p/other", engram.Now(), &foxglovepb.CompressedImage{}),
		message(t, "Vision/LaserScan/p/none", engram.Now(), &foxglovepb.LaserScan{}))
	var ids []string
	for _, c := range read[[]struct{ ID, Type string }](p, "cameras") {
		ids = append(ids, c.ID+" "+c.Type)
	}
	if want := []string{"Vision/ImageRGB/p/camera foxglove.RawImage", "Vision/ImageRGB/p/other foxglove.CompressedImage"}; !slices.Equal(ids, want) {
		t.Error(ids)
	}
}

func TestImageIsFetchedOnce(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	testkit.Commit(t, svc, message(t, camera, start, raw("mono8", 1, 1, 1, 1)))
	live := p.piece("image", "id", camera)
	if live.Header.Get("Cache-Control") != "private, no-cache" {
		t.Error(live.Header)
	}
	again := func(query ...string) int {
		return p.ask(http.Header{"If-None-Match": {live.Header.Get("ETag")}}, "image", query...).StatusCode
	}
	if s := again("id", camera); s != http.StatusNotModified {
		t.Error("the same is answered", s)
	}
	if s := again("id", camera, "w", "1"); s != http.StatusOK {
		t.Error("another size is answered", s)
	}
	testkit.Commit(t, svc, message(t, camera, start, raw("mono8", 1, 1, 1, 2)))
	if s := again("id", camera); s != http.StatusOK {
		t.Error("a correction is answered", s)
	}
}

func TestImagesThatAreNone(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	for i, c := range []struct {
		update engram.EntityUpdate
		status int
		code   engram.Code
	}{
		{message(t, camera, 0, raw("rgb8", 2, 2, 6, 1, 2, 3)), http.StatusInternalServerError, engram.Corrupt},
		{message(t, camera, 0, raw("rgb8", 0, 0, 0)), http.StatusInternalServerError, engram.Corrupt},
		{message(t, camera, 0, raw("rgb8", 2, 2, 1, make([]byte, 12)...)), http.StatusInternalServerError, engram.Corrupt},
		{message(t, camera, 0, raw("mono8", 1<<15, 1<<15, 1<<15, 1)), http.StatusTooManyRequests, engram.Exhausted},
		{message(t, camera, 0, raw("mono8", math.MaxUint32, math.MaxUint32, 0, 1)), http.StatusTooManyRequests, engram.Exhausted},
		{message(t, camera, 0, raw("cmyk", 1, 1, 4, 1, 2, 3, 4)), http.StatusNotImplemented, engram.Unsupported},
		{message(t, camera, 0, &foxglovepb.CompressedImage{Format: "jpeg", Data: []byte("\xff\xd8\xff")}), http.StatusInternalServerError, engram.Corrupt},
		{message(t, camera, 0, &foxglovepb.CompressedImage{Format: "png", Data: hugePNG(1<<30, 1)}), http.StatusTooManyRequests, engram.Exhausted},
		{message(t, camera, 0, &foxglovepb.CompressedVideo{Format: "h264", Data: []byte{0, 0, 0, 1}}), http.StatusNotImplemented, engram.Unsupported},
		{testkit.Update(t, camera, 0, "no image"), http.StatusNotFound, engram.NotFound},
	} {
		c.update.Time = start + engram.Time(i)
		testkit.Commit(t, svc, c.update)
		for _, more := range [][]string{nil, {"w", "10"}, {"colour", "depth"}} {
			if reason := p.refused(c.status, "image", append(more, "id", camera)...); reason.Code != c.code.String() {
				t.Errorf("%d: %+v", i, reason)
			}
		}
	}
}

// hugePNG is the begin of a PNG of a size.
func hugePNG(width, height uint32) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	head := b.Bytes()
	binary.BigEndian.PutUint32(head[16:], width)
	binary.BigEndian.PutUint32(head[20:], height)
	binary.BigEndian.PutUint32(head[29:], crc32.ChecksumIEEE(head[12:29]))
	return head
}

func FuzzImage(f *testing.F) {
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewRGBA(image.Rect(0, 0, 9, 9)), nil); err != nil {
		f.Fatal(err)
	}
	f.Add("rgb8", uint32(2), uint32(2), uint32(6), make([]byte, 12), 1, 1)
	f.Add("bayer_rggb8", uint32(3), uint32(3), uint32(3), make([]byte, 9), 2, 0)
	f.Add("32FC1", uint32(2), uint32(1), uint32(8), []byte{0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x3f}, 1, 1)
	f.Add("", uint32(0), uint32(0), uint32(0), jpg.Bytes(), 4, 4)
	f.Add("", uint32(1), uint32(0), uint32(0), hugePNG(1<<20, 1<<20), 0, 0)
	svc := cameras(f)
	handler := open(f, svc).handler
	at := start
	f.Fuzz(func(t *testing.T, encoding string, width, height, step uint32, data []byte, w, h int) {
		at++
		p := &viewer{t, handler}
		update := message(t, camera, at, &foxglovepb.CompressedImage{Data: data})
		if encoding = string(bytes.ToValidUTF8([]byte(encoding), nil)); encoding != "" {
			update = message(t, camera, at, &foxglovepb.RawImage{Encoding: encoding, Width: width, Height: height, Step: step, Data: data})
		}
		testkit.Commit(t, svc, update)
		for _, colour := range []string{"", "depth"} {
			res := p.piece("image", "id", camera, "w", fmt.Sprint(w), "h", fmt.Sprint(h), "colour", colour)
			if res.StatusCode != http.StatusOK {
				continue
			}
			var got bytes.Buffer
			if _, err := got.ReadFrom(res.Body); err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(got.Bytes(), data) {
				continue // a browser sees what is wrong with it
			}
			img, _, err := image.Decode(&got)
			if err != nil || w > 0 && img.Bounds().Dx() > w || h > 0 && img.Bounds().Dy() > h {
				t.Fatal(res.Header, err)
			}
		}
	})
}

// message is an update of an entity with an instance for each message.
func message(t testing.TB, entity string, at engram.Time, messages ...proto.Message) engram.EntityUpdate {
	t.Helper()
	u := engram.EntityUpdate{Entity: engram.MustID(entity), Time: at}
	for _, m := range messages {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: string(m.ProtoReflect().Descriptor().FullName()), Bytes: b}))
	}
	return u
}

// A guest is shown what a guest may read; of all else not even that it is there.
func TestImagesAndNumbersAreWithinRights(t *testing.T) {
	srv := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	const seen, hidden = "Vision/ImageRGB/p/camera", "Vision/ImageDepth/p/camera"
	for _, entity := range []string{seen, hidden} {
		testkit.Commit(t, srv, message(t, entity, engram.Now(), raw("mono8", 1, 1, 1, 1)))
	}
	p := open(t, feature.Guard(srv, serving.Rules(t, "rules: [{allow: read, to: anonymous, on: Vision/ImageRGB}]")))
	if c := read[[]struct{ ID string }](p, "cameras"); len(c) != 1 || c[0].ID != seen {
		t.Error(c)
	}
	for _, name := range []string{"image", "series", "members"} {
		if res := p.piece(name, "id", seen, "path", ""); res.StatusCode != http.StatusOK {
			t.Error(name, res.Status)
		}
		p.refused(http.StatusNotFound, name, "id", hidden, "path", "")
	}
	p.refused(http.StatusNotFound, "video", "id", hidden)
}
