package examples_test

import "testing"

// The commands in docs/prediction.md do what the document says.
func TestPredictionDocument(t *testing.T) {
	document{file: "prediction.md", enough: atLeast(10)}.run(t)
}
