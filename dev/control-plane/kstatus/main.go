// Prints what kstatus, with which Flux and helm wait, makes of the objects on standard input. In: a JSON array of objects.
// Out: for each, one line with its status, a space, and the message.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	var objects []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		log.Fatal(err)
	}
	for _, object := range objects {
		var read unstructured.Unstructured
		// Its own decoder, which reads whole numbers as integers.
		if err := read.UnmarshalJSON(object); err != nil {
			log.Fatal(err)
		}
		result, err := status.Compute(&read)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Status, result.Message)
	}
}
