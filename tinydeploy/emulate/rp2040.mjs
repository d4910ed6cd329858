// Runs an RP2040 image in rp2040js: node rp2040.mjs RP2040JS IMAGE.json
// Standard output carries JSON lines: {"ready":true}, one {...figures} per line of standard input, and at
// last {"ended":"why"}. The serial line is a TCP connection to the image's port.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { pathToFileURL } from 'node:url';

const FLASH = 0x10000000;
const BOOT_BYTES = 256;
const BOOT_AT = 0x20041f00; // where the boot ROM copies the boot block to (datasheet 2.8.1.3.1)
const TIMER = 0x40054; // a key of rp2040js's table of peripherals
const AIRCR = 0xd0c;
const SLICE = 100000; // instructions between two looks at the connections
const SIO = 5; // the number of the function
const MAX_EDGES = 1000;
const BAUD_TOLERANCE = 0.02;

const [, , modulePath, imagePath] = process.argv;
const { RP2040 } = await import(pathToFileURL(modulePath));
const job = JSON.parse(readFileSync(imagePath, 'utf8'));

const incoming = [];
let outgoing = [];
const edges = [];
let instructions = 0;
let cycles = 0;
let asleep = false;
let failure = '';
let restart = false;

const chip = new RP2040();
const core = chip.core;
const uart = chip.uart[job.uart];

function fail(why) {
  failure ||= why;
}

// What only a log line tells there, an undefined instruction or an access to nothing, ends the emulation.
const at = () => `at 0x${(core.PC >>> 0).toString(16)}`;
chip.logger = {
  debug() {},
  info() {},
  warn(where, what) {
    if (where === 'RP2040' || /Core/.test(where)) fail(`${what} ${at()}`);
  },
  error(where, what) {
    fail(`${what} ${at()}`);
  },
};
chip.onBreak = (code) => fail(`an undefined instruction or a breakpoint, ${code}, ${at()}`);

// CRC-32, polynomial 0x04C11DB7, most significant bit first, not inverted.
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
  return crc >>> 0;
}

// What the boot ROM does with a flash that holds an image: checks the boot block, copies it, runs it.
function boot() {
  const block = chip.flash.subarray(0, BOOT_BYTES);
  const wanted = crc32(block.subarray(0, BOOT_BYTES - 4));
  const found = chip.flashView.getUint32(BOOT_BYTES - 4, true);
  if (found !== wanted) {
    fail(`the boot block ends with 0x${found.toString(16)}, its CRC is 0x${wanted.toString(16)}`);
    return;
  }
  chip.sram.set(block, BOOT_AT - 0x20000000);
  core.reset();
  core.switchStack(0);
  core.currentMode = 0;
  core.IPSR = 0;
  core.PM = core.waiting = false;
  core.enabledInterrupts = core.pendingInterrupts = core.VTOR = 0;
  chip.ppb.reset();
  core.SP = BOOT_AT;
  core.LR = 0; // tells boot2 that the boot ROM called
  core.PC = BOOT_AT;
}

// The serial line: bytes wait here until the receiver has room, since an emulated line has no overruns.
function feed() {
  while (incoming.length > 0 && uart.enabled && !uart.rxFIFO.full) uart.feedByte(incoming.shift());
}
const readRegister = uart.readUint32.bind(uart);
uart.readUint32 = (offset) => {
  const value = readRegister(offset);
  if (offset === 0 && incoming.length > 0) feed();
  return value;
};
uart.onByte = (value) => {
  const rate = uart.baudRate;
  if (Math.abs(rate - job.baud) > BAUD_TOLERANCE * job.baud) {
    fail(`uart${job.uart} sends at ${rate} baud, the board's line has ${job.baud}`);
  }
  for (const [pin, wanted] of job.pins) {
    const got = chip.gpio[pin].functionSelect;
    if (got !== wanted) fail(`pin ${pin} has function ${got} instead of ${wanted}`);
  }
  outgoing.push(value);
};

// A reset of the core, which rp2040js leaves out; clocks and peripherals keep their state, as on the chip.
const writePpb = chip.ppb.writeUint32.bind(chip.ppb);
chip.ppb.writeUint32 = (offset, value) => {
  if (offset !== AIRCR) writePpb(offset, value);
  else if ((value & 0xffff0004) >>> 0 === 0x05fa0004) restart = true;
};
const readPpb = chip.ppb.readUint32.bind(chip.ppb);
chip.ppb.readUint32 = (offset) => (offset === AIRCR ? 0 : readPpb(offset));

for (const pin of job.signals) {
  let level = false;
  chip.gpio[pin].addListener(() => {
    const now = chip.gpio[pin].functionSelect === SIO && chip.gpio[pin].outputValue;
    if (now !== level) edges.push([cycles, pin, now]);
    if (edges.length > MAX_EDGES) edges.shift();
    level = now;
  });
}

// One slice. The chip's time goes on by the cycles of each instruction, at the clock that its registers ask for.
function execute() {
  const clock = chip.clock;
  let count = 0;
  let nanos = 1e9 / chip.clkSys;
  let hz = chip.clkSys;
  for (; count < SLICE && !core.waiting && !restart && failure === ''; count++) {
    const took = core.executeInstruction();
    cycles += took;
    if (chip.clkSys !== hz) {
      hz = chip.clkSys;
      nanos = 1e9 / hz;
    }
    clock.tick(took * nanos);
  }
  instructions += count;
}

// Whether something but the serial line can end the core's sleep.
function isTicking() {
  return (chip.ppb.systickIntEnable && chip.ppb.systickTimer.enable) || chip.peripherals[TIMER].intEnable !== 0;
}

function flush() {
  if (outgoing.length > 0) line.write(Buffer.from(outgoing));
  outgoing = [];
}

function end() {
  flush();
  process.stdout.write(`${JSON.stringify({ ended: failure })}\n`, () => process.exit(0));
}

function run() {
  asleep = false;
  feed();
  if (restart) {
    restart = false;
    boot();
  }
  execute();
  flush();
  if (failure !== '') {
    end();
    return;
  }
  if (core.waiting && incoming.length === 0) {
    if (!isTicking()) {
      asleep = true;
      return;
    }
    chip.clock.tick(chip.clock.nanosToNextAlarm);
  }
  setImmediate(run);
}

function figures() {
  const told = { instructions, cycles, asleep, clk_sys: chip.clkSys, baud: uart.baudRate, edges };
  process.stdout.write(`${JSON.stringify(told)}\n`);
}

for (const [address, text] of job.segments) chip.flash.set(Buffer.from(text, 'base64'), address - FLASH);
boot();

const line = connect(job.port, '127.0.0.1', () => {
  line.setNoDelay(true);
  process.stdout.write('{"ready":true}\n');
  setImmediate(run);
});
line.on('data', (data) => {
  for (const byte of data) incoming.push(byte);
  if (asleep) setImmediate(run);
  asleep = false;
});
for (const event of ['end', 'error']) line.on(event, () => process.exit(0));
process.stdin.on('data', (text) => {
  for (let count = String(text).split('\n').length - 1; count > 0; count--) figures();
});
process.stdin.on('end', () => process.exit(0));
