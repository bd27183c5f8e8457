// example MODEL [INPUT…]: runs a model file once and writes its outputs, as example.c does.
//
//     cc -O2 -c strop.c && ar rcs libstrop.a strop.o
//     rustc -O example.rs -L . -l static=strop -l m
//
// Each INPUT is a file of raw elements (zeros where there is none); output i goes to out<i>.bin in the current folder.
// Exit codes: 0, 1 the run failed, 2 wrong arguments, else the reason of strop_why.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::{env, fs, process::exit};

#[repr(C)]
struct StropModel {
    _opaque: [u8; 0],
}

#[repr(C)]
struct StropTensor {
    name: *const c_char,
    dtype: c_int,
    rank: u32,
    shape: [i64; 8],
    bytes: u64,
}

extern "C" {
    fn strop_open(path: *const c_char, error: *mut c_char, error_bytes: usize) -> *mut StropModel;
    fn strop_why() -> c_int;
    fn strop_close(model: *mut StropModel);
    fn strop_input_count(model: *const StropModel) -> u32;
    fn strop_output_count(model: *const StropModel) -> u32;
    fn strop_input(model: *const StropModel, i: u32) -> *const StropTensor;
    fn strop_output(model: *const StropModel, i: u32) -> *const StropTensor;
    fn strop_run(model: *mut StropModel, inputs: *const *const c_void, outputs: *const *mut c_void) -> c_int;
}

/// A model file that is open; it is closed when this goes.
struct Model(*mut StropModel);

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { strop_close(self.0) }
    }
}

impl Model {
    /// The model, or an exit code and a sentence.
    fn open(path: &str) -> Result<Model, (i32, String)> {
        let path = CString::new(path).map_err(|_| (2, "a path has no zero bytes".to_string()))?;
        let mut error = [0 as c_char; 256];
        let model = unsafe { strop_open(path.as_ptr(), error.as_mut_ptr(), error.len()) };
        if model.is_null() {
            let told = unsafe { CStr::from_ptr(error.as_ptr()) };
            return Err((unsafe { strop_why() }, told.to_string_lossy().into_owned()));
        }
        Ok(Model(model))
    }

    /// Bytes of each input.
    fn inputs(&self) -> Vec<usize> {
        unsafe { (0..strop_input_count(self.0)).map(|i| (*strop_input(self.0, i)).bytes as usize).collect() }
    }

    /// Bytes of each output.
    fn outputs(&self) -> Vec<usize> {
        unsafe { (0..strop_output_count(self.0)).map(|i| (*strop_output(self.0, i)).bytes as usize).collect() }
    }

    /// Outputs as raw elements. The file's code runs: open only files of people whom you trust.
    fn run(&self, inputs: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        for (i, (given, bytes)) in inputs.iter().zip(self.inputs()).enumerate() {
            if given.len() != bytes {
                return Err(format!("input {i} takes {bytes} bytes"));
            }
        }
        let mut outputs: Vec<Vec<u8>> = self.outputs().into_iter().map(|bytes| vec![0; bytes]).collect();
        let read: Vec<*const c_void> = inputs.iter().map(|one| one.as_ptr().cast()).collect();
        let written: Vec<*mut c_void> = outputs.iter_mut().map(|one| one.as_mut_ptr().cast()).collect();
        match unsafe { strop_run(self.0, read.as_ptr(), written.as_ptr()) } {
            0 => Ok(outputs),
            1 => Err("an index is out of range".to_string()),
            _ => Err("no memory".to_string()),
        }
    }
}

fn leave(code: i32, why: &str) -> ! {
    eprintln!("{why}");
    exit(code)
}

fn main() {
    let given: Vec<String> = env::args().skip(1).collect();
    let Some(path) = given.first() else { leave(2, "example MODEL [INPUT...]") };
    let model = Model::open(path).unwrap_or_else(|(code, why)| leave(code, &why));
    let read = |(i, bytes): (usize, usize)| match given.get(i + 1) {
        Some(file) => fs::read(file).unwrap_or_else(|why| leave(2, &format!("{file}: {why}"))),
        None => vec![0; bytes],
    };
    let inputs: Vec<Vec<u8>> = model.inputs().into_iter().enumerate().map(read).collect();
    let outputs = model.run(&inputs).unwrap_or_else(|why| leave(1, &format!("the run failed: {why}")));
    for (i, output) in outputs.iter().enumerate() {
        fs::write(format!("out{i}.bin"), output).unwrap_or_else(|why| leave(1, &why.to_string()));
    }
}
