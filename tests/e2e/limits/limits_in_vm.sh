#!/usr/bin/env bash
# Runs limits.py in a virtual machine with cgroups of version 2 only.
#
#   limits_in_vm.sh [--container] FOLDER --bin DIR --programs DIR --only pids: --only "memory cgroup:"
#
# --container runs it in a group with limits of its own, which is all that it can see. FOLDER keeps the
# kernel and its packages for the next run. The machine reads the file system of this one and writes to
# memory. Needs Debian, root, qemu-system-x86 and kmod; KVM makes it fast.
# Exit status: that of limits.py; 77 if the machine cannot be started.
set -euo pipefail
origin=$PWD
here=$(dirname "$(realpath "$0")")
container=
[[ ${1-} != --container ]] || { container=yes; shift; }
[[ $# -ge 1 ]] || { sed -n '2,9s/^# \?//p' "$0" >&2; exit 2; }
folder=$(realpath -m "$1")
shift

skip() {
  echo "skipped: $1"
  exit 77
}
[[ $(id -u) == 0 ]] || skip "only root can give the whole file system to a virtual machine"
for program in qemu-system-x86_64 apt-get dpkg-deb modprobe; do
  command -v "$program" > /dev/null || skip "$program is not installed"
done

# -- the kernel --
mkdir -p "$folder/initrd"
cd "$folder"
if [[ ! -e ready ]]; then
  kernel=$(apt-cache depends linux-image-amd64 2> /dev/null | sed -n 's/.*Depends: //p' || true)
  apt-get download -qq -o APT::Sandbox::User=root "${kernel:-linux-image-amd64}" busybox-static ||
    skip "the packages of the kernel and busybox cannot be downloaded"
  for package in *.deb; do dpkg-deb -x "$package" .; done
  touch ready
fi
version=$(ls lib/modules)
busybox=$folder/bin/busybox

# Paravirtual KVM does not boot this kernel. The processor then lacks both flags.
accelerator=tcg
patience=5
if [[ -w /dev/kvm ]] && grep -qwE 'svm|vmx' /proc/cpuinfo; then
  accelerator=kvm
  patience=2
fi

# -- its first file system --
depmod -b . "$version"
mkdir -p initrd/{bin,modules,proc,lower,upper,new}
cp "$busybox" initrd/bin/busybox
modprobe -d . -S "$version" -a --show-depends virtio_pci 9pnet_virtio 9p overlay |
  while read -r _ module _; do
    cp "$module" initrd/modules
    echo "modules/${module##*/}"
  done | awk '!seen[$0]++' > initrd/order
cat > initrd/init << 'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
while read -r module; do insmod "$module"; done < /order
mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=1048576 host /lower
mount -t tmpfs upper /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /new
mount -t proc proc /new/proc
mount -t sysfs sysfs /new/sys
mount -t devtmpfs devtmpfs /new/dev
mkdir -p /new/dev/shm
mount -t tmpfs shm /new/dev/shm
mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
echo "+pids +memory" > /new/sys/fs/cgroup/cgroup.subtree_control
chroot /new /bin/bash -l < /command
echo "status $?"
reboot -f
END
chmod +x initrd/init
printf 'cd %q\n' "$origin" > initrd/command
cat >> initrd/command << 'END'
export PYTHONDONTWRITEBYTECODE=1
uname -sr
in_container() {
  mkdir /sys/fs/cgroup/container
  echo 1000 > /sys/fs/cgroup/container/pids.max
  echo 4G > /sys/fs/cgroup/container/memory.max
  echo $$ > /sys/fs/cgroup/container/cgroup.procs
  unshare --cgroup --mount bash -c 'umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && "$@"' - "$@"
}
END
printf '%q ' ${container:+in_container} python3 -u "$here/limits.py" --patience $patience "$@" >> initrd/command
(cd initrd && find . | "$busybox" cpio -o -H newc --quiet 2> /dev/null) > initrd.cpio

# -- the machine. Without KVM, mitigations make system calls ten times slower --
qemu-system-x86_64 -accel $accelerator -cpu max -smp 2 -m 6G -nodefaults -no-user-config \
  -display none -serial stdio -no-reboot -kernel "boot/vmlinuz-$version" -initrd initrd.cpio \
  -append "console=ttyS0 quiet panic=-1 mitigations=off init_on_alloc=0 no_timer_check" \
  -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap |
  sed -u 's/\r$//' | tee console
status=$(sed -n 's/^status \([0-9]*\)$/\1/p' console)
exit "${status:-1}"
