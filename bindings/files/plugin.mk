# Rules for a plug-in: a shared object of the sources here, those in its own `src`, and the C API.
# The Makefile of a plug-in sets ENGINE, as the engine's library is called, and includes this file.
# `make TERRACE=DIRECTORY OUT=DIRECTORY`: TERRACE has libterrace_c.a, which
# `cargo build -p terrace-c` makes.

TERRACE ?= ../../target/release
OUT ?= $(TERRACE)
CXXFLAGS ?= -O2 -g
WARNINGS = -std=c++17 -Wall -Wextra -Werror
FLAGS = $(WARNINGS) -fPIC -fvisibility=hidden -I ../c/include -I ../files/src

PLACE = $(OUT)/$(ENGINE)-plugin
SOURCES = $(wildcard src/*.cc ../files/src/*.cc)
HEADERS = $(wildcard src/*.h ../files/src/*.h) ../c/include/terrace.h
OBJECTS = $(addprefix $(PLACE)/,$(notdir $(SOURCES:.cc=.o)))
PLUGIN = $(OUT)/libterrace_$(ENGINE).so
TESTS = $(patsubst %.cc,$(PLACE)/%.o,$(wildcard tests/*.cc))
CONTRACT = $(OUT)/terrace_$(ENGINE)_contract

vpath %.cc src ../files/src

all: $(PLUGIN)

contract: $(CONTRACT)

$(PLUGIN): $(OBJECTS) $(TERRACE)/libterrace_c.a
	$(CXX) -shared -o $@ $(OBJECTS) $(TERRACE)/libterrace_c.a -Wl,--exclude-libs,ALL \
	  -l$(ENGINE) -lpthread -ldl -lm -lrt -lgcc_s

$(PLACE)/%.o: %.cc $(HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(FLAGS) -c -o $@ $<

$(PLACE)/tests/%.o: tests/%.cc $(wildcard tests/*.h)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(WARNINGS) -c -o $@ $<

$(CONTRACT): $(TESTS) $(PLUGIN)
	$(CXX) $(CXXFLAGS) -o $@ $(TESTS) -L $(OUT) \
	  -Wl,--no-as-needed -lterrace_$(ENGINE) -Wl,-rpath,'$$ORIGIN' -l$(ENGINE)

clean:
	rm -rf $(PLACE) $(PLUGIN) $(CONTRACT)

.PHONY: all contract clean
