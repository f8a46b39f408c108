// Runs a script in the Lua interpreter of Argo CD, gopher-lua, on each object on standard input, as the global `obj`. In:
// {"script": …, "objects": […]}. Out: for each object, one line with the members `status` and `message` of what the script
// returned, as JSON.
package main

import (
	"encoding/json"
	"log"
	"os"

	lua "github.com/yuin/gopher-lua"
	luajson "layeh.com/gopher-json"
)

type input struct {
	Script  string
	Objects []any
}

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		log.Fatal(err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, object := range in.Objects {
		if err := out.Encode(run(in.Script, object)); err != nil {
			log.Fatal(err)
		}
	}
}

func run(script string, object any) health {
	// Argo CD opens no more libraries by default than these.
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	} {
		opened := lua.P{Fn: state.NewFunction(library.open), Protect: true}
		if err := state.CallByParam(opened, lua.LString(library.name)); err != nil {
			log.Fatal(err)
		}
	}
	state.SetGlobal("obj", luajson.DecodeValue(state, object))
	if err := state.DoString(script); err != nil {
		log.Fatal(err)
	}
	returned, err := luajson.Encode(state.Get(-1))
	if err != nil {
		log.Fatal(err)
	}
	var result health
	if err := json.Unmarshal(returned, &result); err != nil {
		log.Fatal(err)
	}
	return result
}
