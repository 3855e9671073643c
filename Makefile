# SPDX-License-Identifier: GPL-2.0-or-later
# Thin over ninja and meson, for hands used to make.
BUILD ?= build
-include $(BUILD)/config.mak

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	./configure --build-dir=$(BUILD)

# Unit tests; scripts/check is everything.
check: all
	meson test -C $(BUILD) --print-errorlogs

install: all
	DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild

# The patched QEMU, see scripts/build-qemu --help.
qemu:
	scripts/build-qemu $(if $(QEMU_SRC),--src $(QEMU_SRC))

# The kernel module, against KDIR's headers.
module:
	$(MAKE) -C guest/driver

clean:
	rm -rf $(BUILD)

.PHONY: all check install qemu module clean
