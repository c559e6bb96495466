package idf

import (
	"strconv"
	"strings"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

const maxDims = 32 // of an ndarray

// ndarray returns the form of <NDArray ndim='…' type='…'/>.
func (f *xmlFile) ndarray(n *xmlNode) (xmlForm, error) {
	if err := f.typeAttributes(n, "ndim", "type"); err != nil {
		return xmlForm{}, err
	}
	ndim, err := strconv.Atoi(n.attr("ndim"))
	if err != nil || ndim < 1 || ndim > maxDims {
		return xmlForm{}, f.errorf(n, "ndim='%s' of <%s>; expected a number from 1 to %d", n.attr("ndim"), n.name, maxDims)
	}
	dtype, err := f.elementType(n, "uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")
	if err != nil {
		return xmlForm{}, err
	}
	form := messageForm(".engram.idf.v1.NDArray")
	form.shape = &idfv1.Shape{Ndim: int32(ndim), Dtype: dtype}
	return form, nil
}

// matrix returns the form of <Matrix rows='…' cols='…' type='…'/>.
func (f *xmlFile) matrix(n *xmlNode) (xmlForm, error) {
	if err := f.typeAttributes(n, "rows", "cols", "type"); err != nil {
		return xmlForm{}, err
	}
	rows, err := f.extent(n, "rows")
	if err != nil {
		return xmlForm{}, err
	}
	cols, err := f.extent(n, "cols")
	if err != nil {
		return xmlForm{}, err
	}
	dtype, err := f.elementType(n, "int16", "int32", "int64", "float32", "float64")
	if err != nil {
		return xmlForm{}, err
	}
	form := messageForm(".engram.idf.v1.Matrix")
	form.shape = &idfv1.Shape{Rows: rows, Cols: cols, Dtype: dtype}
	return form, nil
}

// extent returns a matrix's number of rows or columns, 0 for any.
func (f *xmlFile) extent(n *xmlNode, name string) (int64, error) {
	v := n.attr(name)
	if v == "-1" || strings.EqualFold(v, "Dynamic") {
		return 0, nil
	}
	size, err := strconv.ParseInt(v, 10, 32)
	if err != nil || size < 1 {
		return 0, f.errorf(n, "%s='%s' of <%s>; expected a positive number, or -1 or Dynamic for any", name, v, n.name)
	}
	return size, nil
}

// elementType returns the attribute type of n, which must be one of names.
func (f *xmlFile) elementType(n *xmlNode, names ...string) (idfv1.DType, error) {
	name, err := f.oneOf(n, "type", names...)
	if err != nil {
		return 0, err
	}
	return idfv1.DType(idfv1.DType_value[strings.ToUpper(name)]), nil
}

// oneOf returns the value of an attribute as it stands in values, whatever its case.
func (f *xmlFile) oneOf(n *xmlNode, attr string, values ...string) (string, error) {
	v := n.attr(attr)
	for _, want := range values {
		if strings.EqualFold(v, want) {
			return want, nil
		}
	}
	return "", f.errorf(n, "%s='%s' of <%s>; expected %s", attr, v, n.name, strings.Join(values, ", "))
}

// imageEncodings are the encodings of foxglove.RawImage for ArmarX's pixel types.
var imageEncodings = map[string]string{"rgb24": "rgb8", "depth32": "32FC1"}

// image returns the form of <Image pixelType='…'/>.
func (f *xmlFile) image(n *xmlNode) (xmlForm, error) {
	if err := f.typeAttributes(n, "pixelType"); err != nil {
		return xmlForm{}, err
	}
	pixel, err := f.oneOf(n, "pixelType", "rgb24", "depth32")
	if err != nil {
		return xmlForm{}, err
	}
	form := messageForm(".foxglove.RawImage")
	form.shape = &idfv1.Shape{Encoding: imageEncodings[pixel]}
	return form, nil
}

// pointCloud returns the form of <PointCloud voxelType='…'/>.
func (f *xmlFile) pointCloud(n *xmlNode) (xmlForm, error) {
	if err := f.typeAttributes(n, "voxelType"); err != nil {
		return xmlForm{}, err
	}
	voxel, err := f.oneOf(n, "voxelType", "PointXYZ", "PointXYZI", "PointXYZL", "PointXYZRGB",
		"PointXYZRGBA", "PointXYZRGBL", "PointXYZHSV")
	if err != nil {
		return xmlForm{}, err
	}
	form := messageForm(".foxglove.PointCloud")
	form.shape = &idfv1.Shape{Voxel: voxel}
	return form, nil
}
